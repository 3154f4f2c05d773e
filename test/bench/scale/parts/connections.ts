import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { waitFor } from '../../../rig/wait-for.ts';
import { SshHost, standardSshYml } from '../../../rig/login-node/ssh-host.ts';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { type Command, measure, median, medians, runInterleaved } from '../../measure.ts';
import { sshCommand, user } from '../../ssh/nodes.ts';
import {
  addCrowd,
  crowdUser,
  registerConnections,
  standInContainers,
  startContainers,
} from '../crowd.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';

const connectionCounts = [0, 200, 2_000];
const containerCounts = [0, 100, 500];
/** Of so many users the containers are real; those of the others are processes that sleep. */
const mostReal = 100;
const users = 500;
const runs = 11;

/** For PAM's close after the last client. Milliseconds. */
const pauseMs = 400;

interface Nodes {
  readonly berth: SshHost;
  readonly plain: SshHost;
}

/**
 * A later login of one user, into a running container, with the connections and the containers of others on the node. The
 * others' connections are simulated: `registerConnections`; so are the containers of more than 100 users.
 */
export const connections: ScalePart = {
  title: 'A later login with ssh, with the connections and containers of others on the node',
  async run(record) {
    await installBerth();
    const nodes = await startNodes();
    const { berth } = nodes;
    try {
      await addCrowd(berth, users);
      await measure(sshCommand(berth, 'true'));
      const logins = new Logins(nodes, record);
      for (const count of connectionCounts) {
        const others = Array.from({ length: count }, (_, index) => crowdUser(index % users));
        const registered = await registerConnections(berth, others);
        await logins.at(count, 'connections');
        await registered.end();
      }
      logins.compare('connections');
      let real = 0;
      for (const count of containerCounts) {
        const crowd = Array.from({ length: count }, (_, index) => crowdUser(index));
        await startContainers(berth, crowd.slice(real, mostReal));
        real = Math.min(count, mostReal);
        const others = await standInContainers(berth, crowd.slice(mostReal));
        await logins.at(count, "users' containers");
        await others.end();
      }
      logins.compare("users' containers");
    } finally {
      await nodes.berth.stop();
      await nodes.plain.stop();
    }
  },
};

async function startNodes(): Promise<Nodes> {
  const base = {
    ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
    ...{ lifetime: 'user', grace: '1h', shell: '/bin/bash', mounts: [{ source: '$HOME' }] },
  };
  const untilReplaced = {
    ...standardSshYml,
    podman: { ...standardSshYml.podman, nsenter: '/bin/true' },
    profiles_dir: '/etc/berth/profiles',
  };
  const plain = await SshHost.start({ mode: 'plain', users: { [user]: [] } });
  const berth = await SshHost.start({
    ...{ mode: 'forced', users: { [user]: [] }, profiles: { base } },
    etc: { 'berth-until-replaced/ssh.yml': stringify(untilReplaced) },
  });
  return { berth, plain };
}

/** Measures the logins of one user at each size, and what they cost in plain logins and in starts of Node. */
class Logins {
  readonly #nodes: Nodes;
  readonly #record: RecordFigure;
  readonly #ratios: { readonly ssh: number; readonly program: number }[] = [];

  constructor(nodes: Nodes, record: RecordFigure) {
    this.#nodes = nodes;
    this.#record = record;
  }

  async at(count: number, of: string): Promise<void> {
    const { berth, plain } = this.#nodes;
    const size = { count, of };
    type Names = 'ssh' | 'plain' | 'program' | 'node' | 'nothing';
    const found = await runInterleaved<Names>(
      runs,
      {
        ssh: () => Promise.resolve(sshCommand(berth, 'true')),
        plain: () => Promise.resolve(sshCommand(plain, 'true')),
        program: () =>
          Promise.resolve(
            onNode(berth, join(installDirectory, 'shell/login'), ...['--config', replacedConfig]),
          ),
        node: () => Promise.resolve(onNode(berth, join(installDirectory, 'node'), '--eval', '0')),
        nothing: () => Promise.resolve(onNode(berth, '/bin/true')),
      },
      pauseMs,
    );
    const wall = (name: Names): number => medians(found[name]).wall;
    const program = wall('program') - wall('nothing');
    this.#record({ what: 'a later login with ssh', size, value: wall('ssh'), unit: 'ms' });
    this.#record({ what: 'the login program of it', size, value: program, unit: 'ms' });
    const closes: number[] = [];
    for (let run = 0; run < 5; run += 1) closes.push(await closed(berth));
    const what = "root's cleanup after it";
    this.#record({ what, size, value: median(closes), unit: 'ms' });
    this.#ratios.push({
      ssh: wall('ssh') / wall('plain'),
      program: program / (wall('node') - wall('nothing')),
    });
  }

  /** Compares the sizes since the last call. The machine's own speed varies between them. */
  compare(of: string): void {
    const ratios = this.#ratios.splice(0);
    const growth = (values: readonly number[]): number => Math.max(...values) / (values[0] ?? 1);
    for (const [what, values] of [
      ['in logins with plain sshd', ratios.map(({ ssh }) => ssh)],
      ['the login program alone, in starts of Node', ratios.map(({ program }) => program)],
    ] as const)
      this.#record({
        what: `the slowest with ${of}, ${what}, divided by the first`,
        ...{ value: growth(values), unit: '', wanted: { atMost: 1.1 } },
      });
  }
}

const replacedConfig = '/etc/berth-until-replaced/ssh.yml';

/** A program of the user on the node, without ssh. */
function onNode(host: SshHost, ...words: readonly string[]): Command {
  const { uid, gid, home } = host.account(user);
  return {
    file: '/usr/bin/nsenter',
    args: [
      ...['--target', String(host.init), '--mount', '--pid', '--uts', '--wd=/'],
      ...['setpriv', '--reuid', String(uid), '--regid', String(gid), '--init-groups', ...words],
    ],
    env: { PATH: '/usr/bin:/bin', HOME: home, USER: user, SSH_ORIGINAL_COMMAND: 'true' },
  };
}

/** @returns how long after the client's end the record of its connection is removed, milliseconds */
async function closed(host: SshHost): Promise<number> {
  await measure(sshCommand(host, 'true'));
  const started = performance.now();
  const directory = host.path(`/run/berth/connections/${host.account(user).uid}`);
  await waitFor({ what: "PAM's close", timeoutMs: 60_000, everyMs: 5 }, () =>
    Promise.resolve(readdirSync(directory).length === 0 ? true : undefined),
  );
  return performance.now() - started;
}
