import type { PodmanPaths } from '../../config/schema/profile/profile.ts';
import type { User } from '../../system/identity/nss.ts';

/** The user and the host's paths, as far as the plan of a session depends on them. */
export interface SessionHost {
  readonly user: User;
  /** The user's runtime directory, mode 0700, local, empty after a reboot: `/run/user/UID` or `/run/berth/users/UID`. */
  readonly runtimeDir: string;
  /** `storage` of ssh.yml. */
  readonly storage: string;
  readonly podman: PodmanPaths;
  /** `PID.STARTTIME` of the sshd process that serves the connection; absent at a console. */
  readonly connection?: string;
  /** Podman's directory if this is a job of Slurm, whose cgroup limits the container and ends it. */
  readonly jobDirectory?: string;
}

/** The user's directory below the storage: podman's HOME. It is not visible inside containers. */
export function userStorageDir({
  storage,
  user,
  jobDirectory,
}: Pick<SessionHost, 'storage' | 'user' | 'jobDirectory'>): string {
  return jobDirectory ?? `${storage}/users/${user.uid}`;
}
