import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import type { User } from '../../identity/user.ts';
import { containerNotePath } from '../podman/container-notes.ts';

/** How long the cleanup waits for the home. Milliseconds. */
const patienceMs = 1_000;

/**
 * Removes the notes about containers that ended, with the user's rights. In a process of its own, because a home on a file
 * server may hang. If it fails, the note becomes invalid by its age.
 *
 * @param profiles whose containers on this node ended
 */
export async function removeContainerNotes(user: User, profiles: readonly string[]): Promise<void> {
  if (profiles.length === 0) return;
  const host = hostname();
  const paths = profiles.map((profile) => containerNotePath(user, { host, profile }));
  const child = spawn('/bin/rm', ['-f', '--', ...paths], {
    ...{ uid: user.uid, gid: user.gid, cwd: '/', env: {} },
    ...{ stdio: 'ignore', detached: true },
  });
  child.unref();
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
    timer = setTimeout(resolve, patienceMs);
  });
  clearTimeout(timer);
}
