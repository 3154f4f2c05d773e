import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  connectionId,
  writeConnectionRecord,
} from '../../../src/sessions/connections/connection-record.ts';
import { mapConcurrent } from '../../../src/system/map-concurrent.ts';
import type { SshHost } from '../../rig/login-node/ssh-host.ts';
import { homeOf } from '../../rig/site/accounts.ts';
import { installDirectory } from '../../rig/site/portal.ts';

export interface CrowdUser {
  readonly name: string;
  readonly uid: number;
}

/** One of many users of a login node. The UIDs are between those of accounts and their subordinate IDs (SUB_UID_MIN of login.defs(5)). */
export const crowdUser = (index: number): CrowdUser => ({
  name: `crowd${index}`,
  uid: 20_000 + index,
});

/** Gives a login node accounts by the hundred, with homes, storage and subordinate IDs; they have no keys. */
export async function addCrowd(host: SshHost, count: number): Promise<void> {
  const users = Array.from({ length: count }, (_, index) => crowdUser(index));
  const lines = (of: (user: CrowdUser, index: number) => string): string =>
    users.map((user, index) => `${of(user, index)}\n`).join('');
  const ranges = lines(({ name }, index) => `${name}:${700_000_000 + index * 65_536}:65536`);
  const files = {
    passwd: lines(({ name, uid }) => `${name}:x:${uid}:${uid}::${homeOf(name)}:/bin/bash`),
    shadow: lines(({ name }) => `${name}:*:20000::::::`),
    group: lines(({ name, uid }) => `${name}:x:${uid}:`),
    subuid: ranges,
    subgid: ranges,
  };
  for (const [name, text] of Object.entries(files))
    await asRoot(host, ['tee', '-a', `/etc/${name}`], text);
  const script = `while read -r uid home; do
    install -d -m 0700 -o "$uid" -g "$uid" "/run/user/$uid" "/var/lib/berth-ssh/users/$uid" "$home"
  done`;
  await asRoot(
    host,
    ['sh', '-euc', script],
    lines(({ name, uid }) => `${uid} ${homeOf(name)}`),
  );
}

/** Starts the containers of users with the login program, as at a login without ssh. */
export async function startContainers(host: SshHost, users: readonly CrowdUser[]): Promise<void> {
  await mapConcurrent(users, 3, async ({ name, uid }) => {
    const environment = ['-i', 'PATH=/usr/bin:/bin', `HOME=${homeOf(name)}`, `USER=${name}`];
    await asRoot(host, [
      ...['setpriv', '--reuid', String(uid), '--regid', String(uid), '--init-groups'],
      ...['env', ...environment, 'SSH_ORIGINAL_COMMAND=true'],
      ...[join(installDirectory, 'shell/login'), '--config', '/etc/berth/ssh.yml'],
    ]);
  });
}

/** Processes on a login node that stand for others. */
export interface StandIns {
  /** PIDs on the login node. */
  readonly pids: readonly number[];
  readonly end: () => Promise<void>;
}

/** Stands for the five processes of each user's container: all of them run `sleep`. */
export function standInContainers(host: SshHost, users: readonly CrowdUser[]): Promise<StandIns> {
  const script = `while read -r uid; do
    for part in pause conmon overlay init shell; do
      setpriv --reuid "$uid" --regid "$uid" --clear-groups sleep infinity &
    done
    echo $!
  done
  wait`;
  return startStandIns(host, ['sh', '-euc', script], users);
}

/** Connections as the PAM hook registers them. */
export interface StandInConnections extends StandIns {
  /** `UID/PID.STARTTIME`, as below /run/berth/connections. */
  readonly records: readonly string[];
}

/**
 * Registers connections, one for each of the users. The monitor of each is a shell in a file named `sshd`, which runs as root; it has a
 * child of the user, as sshd has. There is no TCP connection.
 */
export async function registerConnections(
  host: SshHost,
  users: readonly CrowdUser[],
): Promise<StandInConnections> {
  const sshd = join(host.directory, 'sshd');
  await cp('/bin/dash', sshd);
  const one = 'setpriv --reuid "$1" --regid "$1" --clear-groups sleep infinity & wait';
  const script = `while read -r uid; do "$0" -c '${one}' sshd "$uid" & echo $!; done; wait`;
  const { pids, end } = await startStandIns(host, ['sh', '-euc', script, sshd], users);
  const directory = '/run/berth/connections';
  const uids = new Set(users.map(({ uid }) => uid));
  const directories = [directory, ...[...uids].map((uid) => `${directory}/${uid}`)];
  await asRoot(host, ['xargs', 'install', '-d'], ['/run/berth', ...directories].join('\n'));
  const records = users.map(({ name, uid }, index) => {
    const pid = pids[index] ?? 0;
    const record = `${uid}/${connectionId({ pid, start: startTime(host, pid) })}`;
    writeConnectionRecord(join(host.path(directory), record), {
      ...{ user: name, service: 'sshd', rhost: '192.0.2.7', tty: 'ssh' },
      ...{ opened: Math.floor(Date.now() / 1000), hostProcesses: false },
    });
    return record;
  });
  return {
    ...{ pids, records },
    end: async () => {
      await end();
      await asRoot(host, ['sh', '-c', `cd ${directory} && xargs rm -f`], records.join('\n'));
    },
  };
}

function startTime(host: SshHost, pid: number): string {
  const stat = readFileSync(host.path(`/proc/${pid}/stat`), 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** Runs a script that gets UIDs, starts something for each and prints its PID, and waits. All are one process group. */
async function startStandIns(
  host: SshHost,
  argv: readonly string[],
  users: readonly CrowdUser[],
): Promise<StandIns> {
  if (users.length === 0) return { pids: [], end: () => Promise.resolve() };
  const leader = ['setsid', 'sh', '-c', 'echo $$; exec "$@"', 'sh', ...argv];
  const [file = '', ...words] = host.entered(leader);
  const child = spawn(file, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  child.stdin.end(users.map(({ uid }) => `${uid}\n`).join(''));
  const lines: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(Number(line));
    if (lines.length > users.length) break;
  }
  const [group = 0, ...pids] = lines;
  if (pids.length < users.length) throw new Error(`${pids.length} of ${users.length} were started`);
  return {
    pids,
    end: async () => {
      await asRoot(host, ['kill', '-KILL', '--', `-${group}`]);
      await exited;
    },
  };
}

async function asRoot(host: SshHost, argv: readonly string[], input = ''): Promise<void> {
  const { exitCode, stderr } = await host.asRoot(argv, { input, timeout: 300_000 });
  if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${exitCode ?? 'killed'} ${stderr}`);
}
