import { readFile } from 'node:fs/promises';
import type { User } from '../../identity/user.ts';
import { parseSubordinateFile } from '../../identity/subordinate-file.ts';
import type { SessionHost } from '../request/session-host.ts';
import { userFolder } from '../request/session-host.ts';
import { brieflyAsUser } from '../../system/briefly-as-user.ts';
import type { ProcessOwner } from './connection-processes.ts';
import { clearedPausePid } from '../connections/pause-file.ts';
import { findRunFolder } from '../connections/runtime-dir.ts';
import type { SessionSite } from '../connections/state-paths.ts';

/** One user's processes and paths on this host. */
export interface UserSite {
  readonly user: User;
  readonly owner: ProcessOwner;
  /** undefined if the user has no runtime directory; then no container can run either. */
  readonly host: SessionHost | undefined;
}

export async function userSite(site: SessionSite, user: User): Promise<UserSite> {
  const { storage, podman } = site.settings;
  const runFolder = findRunFolder(user);
  const host = runFolder === undefined ? undefined : { user, runFolder, storage, podman };
  return {
    user,
    host,
    owner: {
      uid: user.uid,
      subordinate: await subordinateRanges(user),
      directory: userFolder({ storage, user }),
      podman: podman.podman,
      pausePid: host && (await brieflyAsUser(user, () => clearedPausePid(host))),
    },
  };
}

async function subordinateRanges({ name, uid }: User): Promise<ProcessOwner['subordinate']> {
  const text = await readFile('/etc/subuid', 'latin1').catch(() => '');
  return parseSubordinateFile(text).entries.filter(
    ({ owner, start }) => (owner === name || owner === String(uid)) && start > 0,
  );
}
