import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import type { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { waitFor } from '../../rig/wait-for.ts';

/** `client_address: log` of balancer.yml. */
const logFormat =
  'client=%ci client_port=%cp kind=%f node=%s source=%bi source_port=%bp node_address=%si node_port=%sp connect_ms=%Tc state=%ts open=%fc/%sc retries=%rc';

/**
 * A real haproxy in front of a login node, with the log-format of `berth render balancer`, and the node's syslog with the lines of
 * docs/many-nodes.md, which receive its log.
 */
export class HaproxyInFront {
  readonly port: number;
  readonly #children: readonly ChildProcess[];

  private constructor(port: number, children: readonly ChildProcess[]) {
    this.port = port;
    this.#children = children;
  }

  static async start(host: SshHost): Promise<HaproxyInFront> {
    await ensurePackages(['haproxy']);
    const { front, syslog } = await freePorts(['front', 'syslog']);
    const [config, rules] = ['haproxy.cfg', 'balancer-syslog.conf'].map((name) =>
      join(host.directory, name),
    ) as [string, string];
    await writeFile(rules, rulesOfPage(syslog));
    await writeFile(
      config,
      `global
    log 127.0.0.1:${syslog} local0
defaults
    mode tcp
    log global
    option logasap
    log-format "${logFormat}"
    timeout client 1h
    timeout server 1h
    timeout connect 10s
listen test.plain
    bind 127.0.0.1:${front}
    server login1 127.0.0.1:${host.port}
`,
    );
    const enter = ['--target', String(host.init), '--mount', '--pid', '--uts', '--wd=/', '--'];
    const receiver = ['rsyslogd', '-n', '-f', rules, '-i', '/run/balancer-rsyslogd.pid'];
    const children = [
      spawn('nsenter', [...enter, ...receiver], { stdio: 'ignore' }),
      spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' }),
    ];
    await waitFor({ what: 'haproxy', timeoutMs: 60_000, everyMs: 50 }, async () => {
      const { stdout } = await run('ss', ['-Hlnp', `( sport = :${front} or sport = :${syslog} )`]);
      return stdout.toString().trim().split('\n').length === 2 ? true : undefined;
    });
    return new HaproxyInFront(front, children);
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  }
}

/** The lines for a login node's rsyslog, for this machine's addresses and without a connection for each line. */
function rulesOfPage(port: number): string {
  const block = codeBlocks('docs/many-nodes.md').find(({ text }) => text.includes('ruleset(name='));
  const text = (block?.text ?? '').replace(/^# .*\n/gm, '');
  return (
    text
      .replaceAll('imtcp', 'imudp')
      // The node has a /run of its own.
      .replace('/var/log/', '/run/')
      .replace(/port="\d+"/, `address="127.0.0.1" port="${port}"`)
      .replace(/\["192\.0\.2\.1", *"192\.0\.2\.2"\]/, '["127.0.0.1"]')
  );
}
