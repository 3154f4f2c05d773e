import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { SshHost, type SshHostOptions } from '../../../rig/login-node/ssh-host.ts';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { SystemdNode } from '../../../node/drain/systemd-node.ts';
import { ImageSite } from '../../../node/images/image-site.ts';
import { Registry } from '../../../node/images/registry.ts';
import {
  type Command,
  measure,
  measureConcurrently,
  medians,
  runInterleaved,
} from '../../measure.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';
import { scaled } from '../scaled.ts';

const user = 'scale-nodes';
const ownTime = { atMost: 10 };
const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LANG: 'C.UTF-8' };
const berth = join(installDirectory, 'berth');

/** How many nodes an admin's tool for many hosts asks at a time: the default of Ansible, whose collection Berth has. */
const forks = 5;

/**
 * What an admin runs on all login nodes of a site. The nodes are real: each has its sshd, PAM and a session of a user; one has
 * systemd, too, and is drained. Simulated: the tool that runs a command on each node is this process, with nsenter instead
 * of ssh; and all of them are one machine, so what they do side by side here takes the time of its processors.
 */
export const manyNodes: ScalePart = {
  title: 'A site with many login nodes',
  async run(record) {
    await installBerth();
    const options = {
      mode: 'plain',
      users: { [user]: [] },
      pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
    } satisfies SshHostOptions;
    const first = await SystemdNode.start(['alpha'], options);
    const others: SshHost[] = [];
    const sessions: LiveSession[] = [];
    try {
      sessions.push(await first.session('alpha', user, 'sleep 3600'));
      for (const count of scaled(5, 20, 50)) {
        while (others.length + 1 < count) {
          const number = others.length + 2;
          const address = `127.0.0.${number}`;
          const place = { name: `login${number}`, address, beside: first.host };
          const host = await SshHost.start({ ...options, ...place });
          others.push(host);
          sessions.push(await LiveSession.startReady(host, user, 'sleep 3600'));
        }
        await listAll(count, first, others, record);
      }
      await drain(first, others.length + 1, record);
    } finally {
      for (const session of sessions) await session.kill();
      for (const host of others.toReversed()) await host.stop();
      await first.stop();
    }
    for (const count of scaled(5, 20, 50)) await pullOnAll(count, record);
  },
};

async function listAll(
  count: number,
  first: SystemdNode,
  others: readonly SshHost[],
  record: RecordFigure,
): Promise<void> {
  const list = [berth, 'sessions', 'list', '--no-headers'];
  const commands = [
    ['nsenter', ...first.enter, '--', ...list],
    ...others.map((host) => host.entered(list)),
  ].map(([file = '', ...args]): Command => ({ file, args, env }));
  const [one] = commands;
  if (one === undefined) throw new Error('there are no login nodes');
  const alone = await runInterleaved(5, { one: () => Promise.resolve(one) });
  const { samples, seconds } = await measureConcurrently(commands, forks);
  const size = { count, of: 'login nodes' };
  const { rss } = medians(samples);
  const busy = samples.reduce((sum, { cpu }) => sum + cpu, 0) / 1000;
  record({ what: 'sessions list on all: time', size, value: seconds, unit: 's' });
  record({ what: 'sessions list: processor time on each', size, value: busy / count, unit: 's' });
  // Here they share two cores.
  const apart = (Math.ceil(count / forks) * medians(alone.one).wall) / 1000;
  const what = `sessions list on all, ${forks} at a time, if each has its own cores: time`;
  record({ what, size, value: apart, unit: 's', wanted: ownTime });
  record({ what: 'sessions list: memory on each', size, value: rss / 1024, unit: 'MiB' });
  if (samples.length !== count) throw new Error(`${samples.length} of ${count} nodes were asked`);
}

/** The drain of one node: what it costs does not depend on the others, which are not asked. */
async function drain(node: SystemdNode, count: number, record: RecordFigure): Promise<void> {
  const args = [...node.enter, '--', berth, 'node', 'drain', '--reason', 'new kernel'];
  const { wall } = await measure({ file: 'nsenter', args, env });
  const size = { count, of: 'login nodes' };
  record({ what: 'drain of one', size, value: wall / 1000, unit: 's', wanted: ownTime });
}

/** Each node is a directory with a store of its own. */
async function pullOnAll(count: number, record: RecordFigure): Promise<void> {
  const registry = await Registry.start();
  const nodes: ImageSite[] = [];
  try {
    const { tag } = await registry.push('site/login:1', 10);
    const auth = await registry.authFile();
    for (let index = 0; index < count; index += 1) {
      const node = await ImageSite.make();
      nodes.push(node);
      await node.profiles({ base: tag });
    }
    const before = (await accesses(registry)).length;
    const { samples, seconds } = await measureConcurrently(
      nodes.map((node) => ({
        ...{ file: berth, args: node.words(['pull', '--auth-file', auth]) },
        env: { ...env, SSL_CERT_FILE: registry.ca },
      })),
      forks,
    );
    const lines = (await accesses(registry)).slice(before);
    const size = { count, of: 'login nodes' };
    record({ what: 'images pull on all: time', size, value: seconds, unit: 's' });
    const { wall, rss } = medians(samples);
    record({ what: 'images pull: time on each', size, value: wall / 1000, unit: 's' });
    record({ what: 'images pull: memory on each', size, value: rss / 1024, unit: 'MiB' });
    const blobs = lines.filter((line) => /"GET \/v2\/[^ ]*\/blobs\//.test(line)).length / count;
    const manifests =
      lines.filter((line) => /"GET \/v2\/[^ ]*\/manifests\//.test(line)).length / count;
    const once = { unit: 'requests', wanted: { atMost: 1 } };
    record({ what: 'images pull: manifests that each node gets', size, value: manifests, ...once });
    // A configuration and two layers.
    record({
      what: 'images pull: blobs that each node gets',
      size,
      value: blobs,
      ...once,
      wanted: { atMost: 3 },
    });
  } finally {
    for (const node of nodes) await node.remove();
    await registry.stop();
  }
}

/** The registry's lines about requests. */
async function accesses({ directory }: Registry): Promise<readonly string[]> {
  const text = await readFile(join(directory, 'docker-registry.log'), 'utf8');
  return text.split('\n').filter((line) => /"(?:GET|HEAD|POST) \/v2\//.test(line));
}
