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

/** A program to become or to run: absolute path, words, and the whole environment. */
export interface ProgramCall {
  readonly file: string;
  /** The first is the name it sees itself under. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A program that reads a file of ours: what is not to be on its command line. */
export interface GivenCall extends ProgramCall {
  readonly given: { readonly path: string; readonly text: string };
}

/** The user's own folder below the storage: podman's HOME, nowhere visible from inside. */
export function userFolder({ storage, user }: Pick<SessionHost, 'storage' | 'user'>): string {
  return `${storage}/users/${user.uid}`;
}
