import { readFile } from 'node:fs/promises';
import type { User } from '../../identity/nss.ts';
import { parseSubordinateFile } from '../../identity/subordinate-file.ts';
import { type SessionHost, userStorageDir } from '../../session/session-host.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import type { ProcessOwner } from './connection-processes.ts';
import { validatedPausePid } from './pause-pid.ts';
import { findRuntimeDir } from '../../connections/runtime-dir.ts';
import type { SessionContext } from '../../connections/state-paths.ts';

/** One user's processes and paths on this host. */
export interface UserState {
  readonly user: User;
  readonly owner: ProcessOwner;
  /** undefined if the user has no runtime directory; then no container can run either. */
  readonly host: SessionHost | undefined;
}

export async function readUserState(site: SessionContext, user: User): Promise<UserState> {
  const { storage, podman } = site.settings;
  const runtimeDir = findRuntimeDir(user);
  const host = runtimeDir === undefined ? undefined : { user, runtimeDir, storage, podman };
  return {
    user,
    host,
    owner: {
      uid: user.uid,
      subordinate: await subordinateRanges(user),
      directory: userStorageDir({ storage, user }),
      podman: podman.podman,
      pausePid: host && (await asUserThenRoot(user, () => validatedPausePid(host))),
    },
  };
}

async function subordinateRanges({ name, uid }: User): Promise<ProcessOwner['subordinate']> {
  const text = await readFile('/etc/subuid', 'latin1').catch(() => '');
  return parseSubordinateFile(text).entries.filter(
    ({ owner, start }) => (owner === name || owner === String(uid)) && start > 0,
  );
}
