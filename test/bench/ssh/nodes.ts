import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Profile } from '../../../src/config/schema/profile/profile.ts';
import { podmanRunCommand } from '../../../src/sessions/backends/podman/argv/podman-run.ts';
import type { SessionHost } from '../../../src/sessions/request/session-host.ts';
import type { Account } from '../../rig/site/accounts.ts';
import { installBerth } from '../../rig/site/portal.ts';
import { SshHost, standardSshYml } from '../../rig/login-node/ssh-host.ts';
import type { Command } from '../measure.ts';

export const user = 'bench-ssh';
const image = 'localhost/berth-site:1';

/** Login nodes side by side: plain sshd, Berth with two lifetimes, and a forced `podman run`. */
export interface Nodes {
  readonly plain: SshHost;
  readonly warm: SshHost;
  readonly fresh: SshHost;
  /** Its nsenter is the symlink `replacedNsenter`: with /bin/true there, the login program starts no session. */
  readonly share: SshHost;
  /** `ForceCommand podman run --rm …` with the options of `fresh`. */
  readonly podmanRun: SshHost;
  stop(): Promise<void>;
}

export const replacedNsenter = '/etc/berth/nsenter';

const profile = (lifetime: string): object => ({
  ...{ image, pull: 'never', network: 'host', agent: false, lifetime, shell: '/bin/bash' },
  ...(lifetime === 'user' ? { grace: '1h' } : {}),
  mounts: [{ source: '$HOME' }],
});

export async function openNodes(): Promise<Nodes> {
  await installBerth();
  const users = { [user]: [] };
  const berth = (lifetime: string, podman: object = {}): Promise<SshHost> =>
    SshHost.start({
      ...{ mode: 'forced', users, profiles: { base: profile(lifetime) } },
      sshYml: { podman: { ...standardSshYml.podman, ...podman } },
    });
  const plain = await SshHost.start({ mode: 'plain', users });
  const peer = '/etc/berth/podman-run';
  const nodes = {
    plain,
    warm: await berth('user'),
    fresh: await berth('connection'),
    share: await berth('user', { nsenter: replacedNsenter }),
    podmanRun: await SshHost.start({
      ...{ mode: 'plain', users },
      sshd: `Match User ${user}\n  ForceCommand ${peer}`,
    }),
  };
  await makePeer(nodes.podmanRun, peer);
  await nodes.share.asRoot(['ln', '-s', '/usr/bin/nsenter', replacedNsenter]);
  return {
    ...nodes,
    stop: async () => {
      for (const node of Object.values(nodes)) await node.stop();
    },
  };
}

/** The options come from Berth's own code, without those that keep the container waiting. */
async function makePeer(node: SshHost, path: string): Promise<void> {
  const account = node.account(user);
  const directory = `/var/lib/berth-ssh/users/${account.uid}`;
  const owner = ['-o', String(account.uid), '-g', String(account.gid)];
  await node.asRoot(['install', '-d', ...owner, '-m', '0700', directory]);
  const call = podmanRunCommand(sessionHost(account), plainProfile, {
    mounts: [{ source: account.home, target: account.home, readOnly: false }],
  });
  const left = new Set(['--detach', '--replace', '--init']);
  const named = call.args.findIndex((word) => word === '--name');
  const pidFile = call.args.findIndex((word) => word === '--pidfile');
  const options = call.args
    .slice(1, call.args.indexOf('--entrypoint'))
    .filter((_, index) => ![named, named + 1, pidFile, pidFile + 1].includes(index + 1))
    .filter((word) => !left.has(word));
  const words = [call.file, ...options, '--rm', '-i', image, 'sh', '-c'].map((word) => `'${word}'`);
  const variables = Object.entries(call.env).map(([name, value]) => `export ${name}='${value}'`);
  const script = ['#!/bin/sh', ...variables, `exec ${words.join(' ')} "$SSH_ORIGINAL_COMMAND"`, ''];
  const file = join(node.directory, 'podman-run');
  await writeFile(file, script.join('\n'));
  await chmod(file, 0o755);
  await node.asRoot(['cp', '--preserve=mode', file, path]);
}

function sessionHost({ name, uid, gid, home }: Account): SessionHost {
  return {
    user: { ...{ name, uid, gid, home }, shell: '/bin/bash', groups: [gid] },
    storage: '/var/lib/berth-ssh',
    runtimeDir: `/run/user/${uid}`,
    podman: {
      podman: '/usr/bin/podman',
      runtime: '/usr/bin/crun',
      nsenter: '/usr/bin/nsenter',
      init: '/usr/libexec/podman/catatonit',
      cgroupManager: 'cgroupfs',
      mountProgram: '/usr/bin/fuse-overlayfs',
    },
  };
}

const plainProfile: Profile = {
  name: 'base',
  backend: 'podman',
  image,
  pull: 'never',
  lifetime: { kind: 'connection' },
  timeouts: {},
  mounts: [],
  network: 'host',
  environment: { pass: [], set: {} },
  limits: {},
  x11: false,
  agent: false,
  notices: true,
  selfService: true,
  failure: { action: 'refuse', groups: [] },
  deadlineMs: 30_000,
  podman: { devices: [], capabilities: { add: [], drop: [] } },
  pod: {
    nodeSelector: {},
    tolerations: [],
    extended: {},
    volumes: {},
    forwards: true,
    supplementalGroupsPolicy: 'Strict',
  },
  batch: {},
};

/** OpenSSH's client, as a process to measure. */
export function sshCommand(node: SshHost, ...words: string[]): Command {
  const destination = ['-p', String(node.port), `${user}@127.0.0.1`];
  return {
    file: '/usr/bin/ssh',
    args: [...node.clientOptions(user), ...destination, ...words],
    env: { PATH: '/usr/bin:/bin', HOME: '/root' },
  };
}
