import type { PodmanPaths } from '../../config/profile/profile.ts';
import type { User } from '../../identity/user.ts';

/** Whose session it is and where, as far as the plan of it depends on that. */
export interface SessionHost {
  readonly user: User;
  /** 0700 of the user, on a local file system, gone after a reboot: `/run/user/UID` or `/run/berth/users/UID`. */
  readonly runFolder: string;
  /** `storage` of ssh.yml. */
  readonly storage: string;
  readonly podman: PodmanPaths;
  /** `PID.STARTTIME` of the sshd that serves the connection; absent at a console. */
  readonly connection?: string;
}

/** The user's own folder below the storage: podman's HOME, nowhere visible from inside. */
export function userFolder({ storage, user }: Pick<SessionHost, 'storage' | 'user'>): string {
  return `${storage}/users/${user.uid}`;
}
