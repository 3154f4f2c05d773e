import { readFileSync } from 'node:fs';
import { isErrno } from '../../errors/berth-error.ts';
import type { IdMaps } from './argv/podman-run.ts';
import { groupMap, parseIdMap, userMap } from './argv/id-map.ts';
import { podmanCommand } from './argv/podman-argv.ts';
import type { ProgramCall } from '../../program-call.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { pausePid } from './pause-pid.ts';

/**
 * ID maps that keep the numbers of the user's supplementary groups, if /etc/subgid assigns these groups to the
 * user (`berth subid apply --groups`).
 *
 * @param run Runs a program to its end and returns its standard output.
 * @returns undefined if `keep-id` does the same.
 */
export async function detectIdMaps(
  host: SessionHost,
  run: (call: ProgramCall) => Promise<string>,
): Promise<IdMaps | undefined> {
  const { user } = host;
  if (!isGivenGroups(user)) return undefined;
  const [uids = '', gids = ''] = await firstMaps(host, run);
  const map = groupMap(parseIdMap(gids), user);
  return map && { uids: userMap(parseIdMap(uids), user.uid), gids: map };
}

/** Whether subgid(5) has a line `USER:GID:1`, by name or number; it may be for a group the user has left. */
function isGivenGroups({ name, uid }: SessionHost['user']): boolean {
  try {
    const owners = new Set([name, String(uid)]);
    return readFileSync('/etc/subgid', 'utf8')
      .split('\n')
      .some((line) => {
        const [owner = '', , count] = line.split(':');
        return count === '1' && owners.has(owner);
      });
  } catch (error) {
    if (isErrno(error)) return false;
    throw error;
  }
}

const mapFiles = ['uid_map', 'gid_map'] as const;

/** uid_map and gid_map of the user's namespace. If there is no namespace yet, podman creates it. */
async function firstMaps(
  host: SessionHost,
  run: (call: ProgramCall) => Promise<string>,
): Promise<string[]> {
  const pid = pausePid(host);
  try {
    if (pid !== undefined)
      return mapFiles.map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
  const files = mapFiles.map((file) => `/proc/self/${file}`);
  const text = await run(
    podmanCommand(host, ['unshare', '/bin/sh', '-c', 'cat "$1"; echo; cat "$2"', 'sh', ...files]),
  );
  return text.split('\n\n');
}
