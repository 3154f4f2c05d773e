import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../../src/companions/verify/run-client.ts';
import { waitFor } from '../wait-for.ts';
import { SshHost, type SshHostOptions } from '../login-node/ssh-host.ts';
import type { CertificateAuthority } from '../site/certificates.ts';

const shipped = new URL('../../../etc/rsyslog/berth-forward.conf', import.meta.url).pathname;

export interface ForwardingOptions extends Partial<SshHostOptions> {
  readonly network: string;
  /** Who signs its certificate. */
  readonly ca: CertificateAuthority;
  /** Whose certificates it trusts, if another. */
  readonly trusted?: CertificateAuthority;
  /** The name in its certificate. */
  readonly certificate: string;
  /** What differs from the shipped file, which must have it: times and sizes that no test can wait for or fill. */
  readonly changes?: Readonly<Record<string, string>>;
}

/** A login node that sends its lines to a log aggregator by etc/rsyslog/berth-forward.conf. */
export class ForwardingHost {
  readonly host: SshHost;

  private constructor(host: SshHost) {
    this.host = host;
  }

  static async start(options: ForwardingOptions): Promise<ForwardingHost> {
    const { ca, trusted = ca, certificate, changes = {}, ...host } = options;
    const { cert, key } = await ca.client(certificate);
    const tls = { 'ca.crt': trusted.cert, 'tls.crt': cert, 'tls.key': key };
    const files = await Promise.all(
      Object.entries(tls).map(async ([name, path]) => [
        `berth/log-forward/${name}`,
        await readFile(path, 'utf8'),
      ]),
    );
    return new ForwardingHost(
      await SshHost.start({
        mode: 'plain',
        ...host,
        etc: {
          ...(Object.fromEntries(files) as Record<string, string>),
          hosts: '127.0.0.1 localhost logs.example.org\n',
          'rsyslog.d/berth-forward.conf': changed(await readFile(shipped, 'utf8'), changes),
          'rsyslog-of-test.conf': `global(workDirectory="/var/cache/berth" maxMessageSize="64k")
module(load="imuxsock")
include(file="/etc/rsyslog.d/berth-forward.conf")
*.* action(type="omfile" file="${localLog}" template="RSYSLOG_FileFormat")
`,
          ...host.etc,
        },
      }),
    );
  }

  /** Writes lines with logger(1), as fast as it can. @returns the milliseconds that it took */
  async log(from: number, to: number, pad = ''): Promise<number> {
    const lines = Array.from({ length: to - from }, (_, at) => `n=${from + at} ${pad}`);
    const since = performance.now();
    await this.#done(['logger', '-t', 'berth'], lines.join('\n'));
    return performance.now() - since;
  }

  /** The host's own log. */
  async local(): Promise<string> {
    return readFile(this.host.path(localLog), 'utf8').catch(() => '');
  }

  /** Bytes of the queue on disk. */
  async queued(): Promise<number> {
    const files = join(this.host.directory, 'cache');
    const { stdout } = await run('sh', ['-c', `cat ${files}/berth-forward.* | wc -c`]);
    return Number(stdout.toString());
  }

  /** Ends rsyslog, with SIGKILL or as systemd does, and waits until it is gone. */
  async endRsyslog(signal: 'KILL' | 'TERM'): Promise<void> {
    await this.#done(['sh', '-c', `kill -${signal} "$(cat /run/rsyslogd.pid)"`]);
    await waitFor({ what: 'the end of rsyslog', timeoutMs: 60_000, everyMs: 20 }, async () =>
      (await this.host.asRoot(['pgrep', '-x', 'rsyslogd'])).exitCode === 1 ? true : undefined,
    );
    await this.#done(['rm', '-f', '/dev/log', '/run/rsyslogd.pid']);
  }

  async startRsyslog(): Promise<void> {
    // It goes into the background when it is ready.
    await this.#done(['rsyslogd', '-f', '/etc/rsyslog-of-test.conf', '-i', '/run/rsyslogd.pid']);
    await this.#done(['test', '-S', '/dev/log']);
  }

  async #done(argv: readonly string[], input = ''): Promise<void> {
    const { exitCode, stderr } = await this.host.asRoot(argv, { input });
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
  }

  stop(): Promise<void> {
    return this.host.stop();
  }
}

/** On the host. */
const localLog = '/run/local.log';

function changed(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((made, [from, to]) => {
    if (!made.includes(from)) throw new Error(`berth-forward.conf has no ${from}`);
    return made.replaceAll(from, to);
  }, text);
}
