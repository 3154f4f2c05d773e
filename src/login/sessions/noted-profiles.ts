import {
  type NotedProfile,
  parseProfiles,
  profilesPath,
} from '../../sessions/connections/session-notes.ts';
import { findRuntimeDir } from '../../sessions/connections/runtime-dir.ts';
import { hungNotePath } from '../../sessions/connections/state-paths.ts';
import { runDir } from '../../config/schema/default-settings.ts';
import { runBounded } from '../../system/run-bounded.ts';

/** A connection may have a few profiles, each noted once. Bytes. */
const mostBytes = 4096;

/** The directory is the user's alone, so no group's rights are needed. */
const nogroup = 65_534;

/** The directory is in memory, but its user can keep whoever reads there waiting. Milliseconds. */
const timeoutMs = 2_000;

/**
 * What the logins of an open connection noted of their profiles, the oldest first. It is the user's word.
 *
 * Read with the user's rights, by a process of its own that ends in time. Its real UID is root's, so that the user cannot trace it: a
 * process that the user controlled would be outside of the user's limits.
 *
 * @returns none if the user keeps it from being read
 */
export async function notedProfiles(
  uid: number,
  connection: string,
): Promise<readonly NotedProfile[]> {
  const runtimeDir = findRuntimeDir({ uid });
  if (runtimeDir === undefined) return [];
  const rights = [`--euid=${uid}`, `--egid=${nogroup}`, '--clear-groups'];
  const file = profilesPath(runtimeDir, connection);
  const read = ['/bin/dd', `if=${file}`, 'iflag=nofollow,nonblock', `bs=${mostBytes}`, 'count=1'];
  const { stdout } = await runBounded('/usr/bin/setpriv', [...rights, '--', ...read], {
    env: {},
    timeoutMs,
    graceMs: 0,
    note: hungNotePath({ run: runDir }, uid, 'profiles'),
  });
  return parseProfiles(stdout);
}
