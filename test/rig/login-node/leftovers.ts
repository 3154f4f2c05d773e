import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSubordinateFile } from '../../../src/system/identity/subordinate-file.ts';
import { ifMissing } from '../if-missing.ts';
import type { SshHost } from './ssh-host.ts';

/** What remains of a user's sessions on a host. */
export interface Leftovers {
  /** `PID COMMAND` of processes with the user's UID or one of its subordinate UIDs. */
  readonly processes: readonly string[];
  /**
   * Mounts in the user's container storage that are visible on the host. Mounts in a namespace of the user end
   * with its last process.
   */
  readonly mounts: readonly string[];
  /** Names of containers in the store's list, also of those that podman does not list. */
  readonly containers: readonly string[];
  /** Layers of the user's store. */
  readonly layers: readonly string[];
  /** Berth's records of connections and their cgroups, locks and state files. */
  readonly files: readonly string[];
  readonly volumes: readonly string[];
  readonly podmanLocks: readonly string[];
}

export const noLeftovers: Leftovers = {
  ...{
    processes: [],
    mounts: [],
    containers: [],
    layers: [],
    volumes: [],
    files: [],
    podmanLocks: [],
  },
};

export async function findLeftovers(host: SshHost, user: string): Promise<Leftovers> {
  const { uid } = host.account(user);
  const storage = host.path(`/var/lib/berth-ssh/users/${uid}/storage`);
  const names = (list: string): Promise<readonly string[]> => namesIn(join(storage, list));
  return {
    processes: await processesOf(host, user),
    mounts: (await readFile(`/proc/${host.init}/mountinfo`, 'utf8'))
      .split('\n')
      .filter((line) => line.includes(`/users/${uid}/storage`)),
    containers: await names('overlay-containers/containers.json'),
    volumes: await readdir(join(storage, 'volumes')).catch(ifMissing([])),
    layers: await names('overlay-layers/layers.json'),
    files: [
      ...(await filesIn(host, `/run/berth/connections/${uid}`)),
      ...(await filesIn(host, `/run/berth/cgroups/${uid}`)),
      ...(await filesIn(host, `/run/user/${uid}/berth`)),
      ...(await filesIn(host, `/run/berth/ending`)),
    ],
    podmanLocks: await filesIn(host, `/run/user/${uid}/libpod/tmp/locks`),
  };
}

/** `PID COMMAND` of the user's processes, as in `Leftovers`. */
export async function processesOf(host: SshHost, user: string): Promise<string[]> {
  const { uid } = host.account(user);
  const { entries } = parseSubordinateFile(await readFile('/etc/subuid', 'latin1'));
  const own = entries.filter(({ owner }) => owner === user || owner === String(uid));
  const { stdout } = await host.asRoot(['ps', '-eo', 'uid=,pid=,stat=,args=']);
  return stdout
    .toString()
    .split('\n')
    .flatMap((line) => {
      const [, of = '', pid = '', state = '', command = ''] =
        /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
      const id = Number(of);
      const theirs =
        id === uid || own.some(({ start, count }) => id >= start && id < start + count);
      // A zombie, or a process that is exiting: its memory is already freed, and ps shows `[name]`; not if another thread lives (`l`).
      const isGone = (state.startsWith('Z') || command.startsWith('[')) && !state.includes('l');
      return of !== '' && theirs && !isGone ? [`${pid} ${command}`] : [];
    });
}

async function namesIn(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(ifMissing('[]'));
  return (JSON.parse(text) as { id: string; names?: string[] }[]).map(
    ({ id, names }) => names?.[0] ?? id,
  );
}

async function filesIn(host: SshHost, directory: string): Promise<string[]> {
  const found = await readdir(host.path(directory)).catch(ifMissing([]));
  return found.map((name) => `${directory}/${name}`);
}
