import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSubordinateFile } from '../../../src/identity/subordinate-file.ts';
import type { SshHost } from './ssh-host.ts';

/** What a host has of a user. All of it is empty on a host where the user has never been. */
export interface LeftOver {
  /** `PID COMMAND` of processes with the user's UID or one of its subordinate UIDs. */
  readonly processes: readonly string[];
  /**
   * Mounts below the user's container storage that the host sees. Mounts in a namespace of the user end with its last
   * process.
   */
  readonly mounts: readonly string[];
  /** Names in the store's own list, of containers that podman knows and of others. */
  readonly containers: readonly string[];
  /** Layers without a container. */
  readonly layers: readonly string[];
  /** Records of connections, locks and notes. */
  readonly files: readonly string[];
  readonly volumes: readonly string[];
  /** How many of podman's locks are taken. */
  readonly podmanLocks: number;
}

export const nothingLeft: LeftOver = {
  ...{
    processes: [],
    mounts: [],
    containers: [],
    layers: [],
    volumes: [],
    files: [],
    podmanLocks: 0,
  },
};

export async function leftOver(host: SshHost, user: string): Promise<LeftOver> {
  const { uid } = host.account(user);
  const storage = host.path(`/var/lib/berth-ssh/users/${uid}/storage`);
  const names = (list: string): Promise<readonly string[]> => namesIn(join(storage, list));
  return {
    processes: await processesOf(host, user),
    mounts: (await readFile(`/proc/${host.init}/mountinfo`, 'utf8'))
      .split('\n')
      .filter((line) => line.includes(`/users/${uid}/storage`)),
    containers: await names('overlay-containers/containers.json'),
    volumes: await readdir(join(storage, 'volumes')).catch(nothingThere([])),
    layers: await names('overlay-layers/layers.json'),
    files: [
      ...(await filesIn(host, `/run/berth/connections/${uid}`)),
      ...(await filesIn(host, `/run/user/${uid}/berth`)),
      ...(await filesIn(host, `/run/berth/ending`)),
    ],
    podmanLocks: await podmanLocks(host.path(`/dev/shm/libpod_rootless_lock_${uid}`)),
  };
}

/** `PID COMMAND`, as in `LeftOver`; reads no file of the user. */
export async function processesOf(host: SshHost, user: string): Promise<string[]> {
  const { uid } = host.account(user);
  const { entries } = parseSubordinateFile(await readFile('/etc/subuid', 'latin1'));
  const own = entries.filter(({ owner }) => owner === user || owner === String(uid));
  const { stdout } = await host.inside(['ps', '-eo', 'uid=,pid=,stat=,args=']);
  return stdout
    .toString()
    .split('\n')
    .flatMap((line) => {
      const [, of = '', pid = '', state = '', command = ''] =
        /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
      const id = Number(of);
      const theirs =
        id === uid || own.some(({ start, count }) => id >= start && id < start + count);
      // Dead, or ending on a busy machine: the kernel has freed its memory, and ps prints `[name]`.
      const isGone = state.startsWith('Z') || command.startsWith('[');
      return of !== '' && theirs && !isGone ? [`${pid} ${command}`] : [];
    });
}

async function namesIn(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(nothingThere('[]'));
  return (JSON.parse(text) as { id: string; names?: string[] }[]).map(
    ({ id, names }) => names?.[0] ?? id,
  );
}

/** Replaces the error for a missing file or directory; other errors are thrown. */
function nothingThere<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return instead;
    throw error;
  };
}

async function filesIn(host: SshHost, directory: string): Promise<string[]> {
  const found = await readdir(host.path(directory)).catch(nothingThere([]));
  return found.map((name) => `${directory}/${name}`);
}

/**
 * The bitmaps of podman's shared locks (libpod/lock/shm/shm_lock.h): a header of 56 bytes, then for each 32 locks a
 * bitmap in 8 bytes and 32 mutexes of 40 bytes.
 */
async function podmanLocks(file: string): Promise<number> {
  const bytes = await readFile(file).catch(nothingThere(Buffer.alloc(0)));
  let taken = 0;
  for (let at = 56; at + 8 <= bytes.length; at += 8 + 32 * 40)
    taken += bytes.readUInt32LE(at).toString(2).replaceAll('0', '').length;
  return taken;
}
