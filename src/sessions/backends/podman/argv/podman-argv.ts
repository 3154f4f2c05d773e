import type { ProgramCall } from '../../../../system/program/program-call.ts';
import { type SessionHost, userStorageDir } from '../../../request/session-host.ts';

/**
 * A podman command for this user's containers. All paths are on its command line, and its HOME is a directory that
 * no session can reach, so podman never reads containers.conf, storage.conf, registries.conf, policy.json,
 * mounts.conf or hooks from the user's home (containers.conf(5), containers-storage.conf(5)).
 */
export function podmanCommand(host: SessionHost, args: readonly string[]): ProgramCall {
  const options = podmanOptions(host, userStorageDir(host));
  return {
    file: host.podman.podman,
    args: ['podman', ...options, ...args],
    env: podmanEnvironment(host),
  };
}

/**
 * Podman's own options, which replace its configuration files.
 *
 * @param own directory of the user's containers
 */
export function podmanOptions(
  host: Pick<SessionHost, 'podman' | 'runtimeDir' | 'storage'>,
  own: string,
): string[] {
  const { podman, runtimeDir, storage } = host;
  const { mountProgram } = podman;
  return [
    '--root',
    `${own}/storage`,
    '--runroot',
    `${runtimeDir}/containers`,
    '--tmpdir',
    [runtimeDir, ...temporaryNames].join('/'),
    '--runtime',
    podman.runtime,
    '--cgroup-manager',
    podman.cgroupManager,
    '--events-backend',
    'none',
    '--log-level',
    'error',
    '--storage-driver',
    'overlay',
    ...(mountProgram === undefined
      ? []
      : ['--storage-opt', `overlay.mount_program=${mountProgram}`]),
    '--storage-opt',
    `additionalimagestore=${storage}/images`,
  ];
}

/** Podman's directory below `runtimeDir` for what ends with the host, such as pause.pid. */
export const temporaryNames = ['libpod', 'tmp'] as const;

/** Directory with podman's lock files, below `runtimeDir`. */
export const lockDirectory = [...temporaryNames, 'locks'];

/** Podman's other locks are in /dev/shm, under a name that another user can take first (containers.conf(5), `lock_type`). */
export const ownLocks = '[engine]\nlock_type = "file"\n';

/** The whole environment of podman, the OCI runtime and nsenter: nothing from the client or the user. */
export function podmanEnvironment(host: SessionHost): Readonly<Record<string, string>> {
  return {
    HOME: userStorageDir(host),
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    XDG_RUNTIME_DIR: host.runtimeDir,
    LANG: 'C.UTF-8',
  };
}

/** The last component of a path: `crun` for `/usr/bin/crun`. */
export function programName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
