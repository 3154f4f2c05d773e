import { userFolder, type SessionHost } from '../../request/session-host.ts';
import type { ProgramCall } from '../../../program-call.ts';

/**
 * podman, for this user's containers. Where it keeps what is said on its command line, and its HOME
 * is a folder that no session can reach: a containers.conf, storage.conf, registries.conf, policy.json,
 * mounts.conf or hook in the user's home is never read (containers.conf(5), containers-storage.conf(5)).
 */
export function podmanCall(host: SessionHost, words: readonly string[]): ProgramCall {
  const { podman, runFolder, storage } = host;
  const own = userFolder(host);
  const mountProgram = podman.mountProgram;
  return {
    file: podman.podman,
    args: [
      'podman',
      ...['--root', `${own}/storage`],
      ...['--runroot', `${runFolder}/containers`],
      ...['--tmpdir', temporaryFolder(host)],
      ...['--runtime', podman.runtime],
      ...['--cgroup-manager', podman.cgroupManager],
      ...['--events-backend', 'none'],
      ...['--log-level', 'error'],
      ...['--storage-driver', 'overlay'],
      ...(mountProgram === undefined
        ? []
        : ['--storage-opt', `overlay.mount_program=${mountProgram}`]),
      ...['--storage-opt', `additionalimagestore=${storage}/images`],
      ...words,
    ],
    env: podmanEnvironment(host),
  };
}

function temporaryFolder({ runFolder }: Pick<SessionHost, 'runFolder'>): string {
  return `${runFolder}/libpod/tmp`;
}

/** Where podman notes the process that keeps the user's user namespace open. */
export function pauseFile(host: Pick<SessionHost, 'runFolder'>): string {
  return `${temporaryFolder(host)}/pause.pid`;
}

/** All that podman, the OCI runtime and nsenter get to see: nothing of the client's or the user's. */
export function podmanEnvironment(host: SessionHost): Readonly<Record<string, string>> {
  return {
    HOME: userFolder(host),
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    XDG_RUNTIME_DIR: host.runFolder,
    LANG: 'C.UTF-8',
  };
}
