import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError, expectErrno, isErrno } from '../../../system/errors/berth-error.ts';
import type { ProgramCall } from '../../../system/program/program-call.ts';
import { type SessionHost, userStorageDir } from '../../request/session-host.ts';
import { isLoginShell } from '../../request/session-request.ts';
import type { SessionToOpen } from '../backend.ts';
import { groupMap, parseIdMap, userMap } from './argv/id-maps.ts';
import { podmanCommand } from './argv/podman-argv.ts';
import { type IdMaps, passwdEntry } from './argv/podman-run.ts';
import {
  type ContainerHandle,
  inContainerFiles,
  inUserNamespace,
  parseProcessLimits,
  type ProcessLimits,
  runtimeExec,
} from './argv/runtime-exec.ts';
import { type ContainerFile, pausePid } from './running-container.ts';

/** Runs a program to its end and returns its standard output. */
export type Run = (call: ProgramCall) => Promise<string>;

/** The home if the image has it, else /, as sshd does for a missing home. */
export async function homeInside(
  { host }: { readonly host: SessionHost },
  container: ContainerHandle & Pick<ContainerFile, 'shell'>,
  run: Run,
): Promise<string> {
  const { home } = host.user;
  const tried = { argv: [container.shell, '-c', ':'], cwd: home };
  return run(runtimeExec(host, container, tried)).then(
    () => home,
    () => '/',
  );
}

/** Read in the user's namespace: the file belongs to the container's root, which is a subordinate ID. */
export async function readProcessLimits(
  host: SessionHost,
  { id, pausePid }: ContainerHandle,
  run: Run,
): Promise<ProcessLimits> {
  const path = `${userStorageDir(host)}/storage/overlay-containers/${id}/userdata/config.json`;
  return parseProcessLimits(await run(inUserNamespace(host, pausePid, ['/bin/cat', path])));
}

/**
 * Waits until the container's first process is the init program. For a moment after podman returns, that process is
 * still the runtime: its environment is the runtime's own, and its namespaces cannot be joined (PR_SET_DUMPABLE, and
 * "Ptrace access mode checking" in ptrace(2)).
 *
 * @param deadline By performance.now().
 * @throws {BerthError} `container-start-deadline`
 */
export async function waitForInit(
  { host, profile }: Pick<SessionToOpen, 'host' | 'profile'>,
  pid: number,
  deadline: number,
): Promise<void> {
  const init = await stat(host.podman.init);
  for (;;) {
    try {
      const program = await stat(`/proc/${pid}/exe`);
      if (program.ino === init.ino && program.dev === init.dev) return;
    } catch (error) {
      // Whether it has ended is checked afterwards.
      if (isErrno(error, 'ENOENT', 'ESRCH')) return;
      expectErrno(error, 'EACCES');
    }
    if (performance.now() > deadline)
      throw new BerthError(
        'container-start-deadline',
        `podman started your session's container, but its init program did not start within ${profile.deadlineMs / 1000} s`,
      );
    await sleep(5);
  }
}

/** The image's `ENV`, read from the container's first process. */
export async function imageEnvironment(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  return text.split('\0').filter((pair) => pair !== '');
}

/**
 * Writes the user's and the groups' names into passwd and group inside, and finds a shell that the image has, in
 * one call. An image without /bin/sh keeps what podman wrote.
 *
 * @returns The profile's shell, else the user's own if the image has it.
 */
export async function prepareInside(
  { host, profile }: Pick<SessionToOpen, 'host' | 'profile'>,
  container: ContainerHandle & { readonly pid: number; readonly groups: readonly string[] },
  run: Run,
): Promise<string> {
  const { user } = host;
  const { groups } = container;
  const shells = [user.shell, '/bin/bash'].filter((shell) => !isLoginShell(shell));
  const call = inContainerFiles(host, container.pid, [
    '/bin/sh',
    '-c',
    preparation,
    'sh',
    passwdEntry({ ...user, shell: '' }),
    String(groups.length),
    ...groups,
    ...(profile.shell === undefined ? shells : [profile.shell]),
  ]);
  const found = await run(call).catch(async (error: unknown) => {
    const ownShell = profile.shell;
    const late = error instanceof BerthError && error.code === 'container-start-deadline';
    if (ownShell === undefined || late) throw error;
    // No /bin/sh in the image. The profile's shell is enough.
    const tried = { argv: [ownShell, '-c', ':'], cwd: '/' };
    return run(runtimeExec(host, container, tried));
  });
  return profile.shell ?? (found.trim() === '' ? '/bin/sh' : found.trim());
}

/**
 * Uses only builtins of a POSIX shell. Of two lines with the same number or name the first one counts, so the
 * site's lines come first: they match the owners of files on the mounted file systems.
 */
const preparation = [
  'entry=$1 n=$2 groups=; shift 2',
  'while [ "$n" -gt 0 ]; do groups="$groups$1\n"; n=$((n-1)); shift; done',
  'for s; do if [ -x "$s" ]; then break; fi; s=/bin/sh; done',
  'put() {',
  '  old=',
  '  if [ -r "$1" ]; then',
  '    while IFS= read -r line || [ "$line" ]; do',
  '      case $line in "$2":*) ;; *) old="$old$line\n" ;; esac',
  '    done <"$1"',
  '  fi',
  '  printf "%s" "$3$old" >"$1"',
  '}',
  'put /etc/passwd "${entry%%:*}" "$entry$s\n"',
  'put /etc/group "" "$groups"',
  'printf "%s\\n" "$s"',
].join('\n');

/**
 * ID maps that keep the numbers of the user's supplementary groups, if /etc/subgid assigns these groups to the
 * user (`berth subid apply --groups`).
 *
 * @returns undefined for `keep-id`, as `groupMap`.
 */
export async function detectIdMaps(host: SessionHost, run: Run): Promise<IdMaps | undefined> {
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
    expectErrno(error);
    return false;
  }
}

const mapFiles = ['uid_map', 'gid_map'] as const;

/** uid_map and gid_map of the user's namespace. If there is no namespace yet, podman creates it. */
async function firstMaps(host: SessionHost, run: Run): Promise<string[]> {
  const pid = pausePid(host);
  try {
    if (pid !== undefined)
      return mapFiles.map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
  } catch (error) {
    expectErrno(error);
  }
  const files = mapFiles.map((file) => `/proc/self/${file}`);
  const text = await run(
    podmanCommand(host, ['unshare', '/bin/sh', '-c', 'cat "$1"; echo; cat "$2"', 'sh', ...files]),
  );
  return text.split('\n\n');
}
