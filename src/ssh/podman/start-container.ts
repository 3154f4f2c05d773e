import { existsSync, statSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Profile } from '../../config/profile/profile.ts';
import { isWithin } from '../../config/profile/protected-folders.ts';
import { BerthError, isErrno } from '../../errors.ts';
import { containerRun, passwdEntry, pidFile } from './argv/podman-run.ts';
import {
  inFilesOf,
  inUserNamespace,
  processLimits,
  runtimeExec,
  type ProcessLimits,
  type WarmContainer,
} from './argv/runtime-exec.ts';
import { podmanCall } from './argv/podman-argv.ts';
import { userFolder, type SessionHost } from '../request/session-host.ts';
import type { ProgramCall } from '../../program-call.ts';
import { filesInside } from '../../transfer-tools.ts';
import { isLoginShell } from '../request/login-shell.ts';
import { terminalBy } from './argv/podman-exec.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { groupLines } from '../../system/group-names.ts';
import { takeLock } from '../../system/owner-lock.ts';
import { startOf } from '../../system/process-start.ts';
import { runProgram } from '../../system/run-program.ts';
import { readUserFile } from '../../system/user-file.ts';
import { assertMounted, originsOf } from './verify-mounts.ts';
import { groupMaps } from './detect-id-maps.ts';
import { assertLimits } from './verify-cgroup-limits.ts';
import { clearedPausePid, pausePid } from '../connections/pause-file.ts';
import { readyMounts } from './resolve-mounts.ts';
import { startError } from './podman-errors.ts';
import { noteFile, noteFolder, warmContainer, type ContainerNote } from './running-container.ts';
import { installedPath } from '../../installed-path.ts';

export interface StartInput {
  readonly host: SessionHost;
  readonly profile: Profile;
  readonly name: string;
  /** In place of the profile's, where that failed. */
  readonly image?: string;
  /** Folder of the bundled file-transfer programs on the host. */
  readonly filesFolder: string;
}

/** The lock is local: its owner can always be looked up. */
const foreignStaleMs = 60_000;

/**
 * Starts the container of this name, once, however many logins want it at the same moment: the others
 * wait for the first one's.
 *
 * @throws {BerthError} `session-mount-missing`, `container-start-deadline`, `lock-timeout`, and what
 *   `startError` makes of podman's words
 */
export async function startContainer(
  input: StartInput,
): Promise<NonNullable<ReturnType<typeof warmContainer>>> {
  const { host, profile, name } = input;
  const { runFolder } = host;
  const warm = (): ReturnType<typeof warmContainer> => warmContainer(host, name);
  const deadline = performance.now() + profile.deadlineMs;
  await mkdir(noteFolder(runFolder), { recursive: true, mode: 0o700 });
  const lock = await takeLock(`${noteFolder(runFolder)}/${name}.lock`, {
    waitMs: profile.deadlineMs,
    foreignStaleMs,
    enough: () => warm() !== undefined,
  });
  try {
    if (lock !== undefined) await start(input, deadline);
  } finally {
    await lock?.release();
  }
  const container = warm();
  if (container === undefined)
    throw new BerthError(`the container ${name} ended as soon as it was started`, {
      code: 'container-ended',
      exit: 'unavailable',
      hint: `See why: as the user, podman logs ${name}; can the image be run on this machine at all?`,
    });
  return container;
}

async function start(input: StartInput, deadline: number): Promise<void> {
  const { host, profile, name, image, filesFolder } = input;
  const run = (call: ProgramCall): Promise<string> => runWithin(call, deadline, profile);
  const { runtime } = host.podman;
  assertOwnFolder(host);
  await clearedPausePid(host);
  const { mounts, checked } = readyMounts(profile, host, filesFolder);
  const origins = originsOf(checked);
  const maps = await groupMaps(host, run);
  const call = containerRun(host, profile, {
    mounts,
    ...(image === undefined ? {} : { image }),
    ...(maps === undefined ? {} : { maps }),
  });
  // What --replace removes would leave its volumes.
  if (existsSync(noteFile(host.runFolder, name))) await run(removeCall(host, name));
  // The names are asked for while podman works.
  const [printed, groups, version] = await Promise.all([
    run(call),
    groupLines([...new Set([host.user.gid, ...host.user.groups])]),
    // What is wrong with the runtime, podman says better.
    run(versionCall(runtime)).catch(() => ''),
  ]);
  // --replace first prints what it removed.
  const id = printed.trim().split('\n').at(-1) ?? '';
  const pid = await containerPid(host, name);
  try {
    assertMounted(pid, origins, profile);
  } catch (error) {
    await run(removeCall(host, name));
    throw error;
  }
  assertLimits(pid, profile);
  const container = { id, pausePid: pausePid(host) ?? 0 };
  const shell = await prepareInside(input, { ...container, pid, groups }, run);
  const homeMounted = mounts.some(({ target }) => isWithin(host.user.home, target));
  const note: ContainerNote = {
    id,
    pid,
    start: startOf(pid) ?? '',
    env: await imageEnvironment(pid),
    shell,
    cwd: homeMounted ? host.user.home : await homeInside(input, { ...container, shell }, run),
    bundledFiles: mounts.some(({ target }) => target === filesInside),
    terminalBy: terminalBy(runtime, version),
    limits: await limitsOf(host, container, run),
  };
  await writeAtomically(noteFile(host.runFolder, name), JSON.stringify(note), {
    mode: 0o600,
    replaceable: true,
  });
}

/** The home, where the image has it; else / as with sshd, where it is not there. */
async function homeInside(
  { host }: StartInput,
  container: WarmContainer & Pick<ContainerNote, 'shell'>,
  run: (call: ProgramCall) => Promise<string>,
): Promise<string> {
  const { home } = host.user;
  const tried = { words: [container.shell, '-c', ':'], cwd: home };
  return run(runtimeExec(host, container, tried)).then(
    () => home,
    () => '/',
  );
}

function versionCall(runtime: string): ProgramCall {
  return { file: runtime, args: [runtime, '--version'], env: {} };
}

/** Root makes it: nobody else may make folders beside the other users'. */
function assertOwnFolder(host: SessionHost): void {
  const folder = userFolder(host);
  if (statSync(folder, { throwIfNoEntry: false })?.uid === host.user.uid) return;
  throw new BerthError(`you have no folder for containers on this machine: ${folder}`, {
    code: 'session-folder-missing',
    exit: 'config',
    hint: `${installedPath('hooks/pam-session')} makes it at each login: see the session lines of /etc/pam.d/sshd.`,
    fields: { file: folder },
  });
}

/** As podman has just written it; NaN where somebody else did. */
async function containerPid(host: SessionHost, name: string): Promise<number> {
  const demands = { uid: host.user.uid, maximumBytes: 32 };
  const text = await readUserFile(pidFile(host, name), demands);
  return Number.parseInt(text?.toString('latin1') ?? '', 10);
}

/** Podman's folder of a container is its root's, one of the user's subordinate IDs. */
async function limitsOf(
  host: SessionHost,
  { id, pausePid }: WarmContainer,
  run: (call: ProgramCall) => Promise<string>,
): Promise<ProcessLimits> {
  const path = `${userFolder(host)}/storage/overlay-containers/${id}/userdata/config.json`;
  return processLimits(await run(inUserNamespace(host, pausePid, ['/bin/cat', path])));
}

/** How long a busy host may need until a process that was let go runs its program. Milliseconds. */
const execMs = 5_000;

/**
 * What `ENV` of the image says, as the container's first process has it. The runtime has let that process go,
 * and it becomes the container's program a moment later: until then it is the runtime's own, which nobody may
 * look into (PR_SET_DUMPABLE, proc(5)).
 */
async function imageEnvironment(pid: number): Promise<string[]> {
  const end = performance.now() + execMs;
  for (;;) {
    try {
      const text = await readFile(`/proc/${pid}/environ`, 'utf8');
      return text.split('\0').filter((pair) => pair !== '');
    } catch (error) {
      if (!isErrno(error, 'EACCES') || performance.now() > end) throw error;
    }
    await sleep(5);
  }
}

/**
 * What only the image can tell or take, in one go: the names of the user and the user's groups, and
 * which of the shells it has. An image without a shell of its own keeps what podman wrote.
 *
 * @returns The profile's shell, else the user's own where the image has it.
 */
async function prepareInside(
  { host, profile }: StartInput,
  container: WarmContainer & { readonly pid: number; readonly groups: readonly string[] },
  run: (call: ProgramCall) => Promise<string>,
): Promise<string> {
  const { user } = host;
  const { groups } = container;
  const shells = [user.shell, '/bin/bash'].filter((shell) => !isLoginShell(shell));
  const call = inFilesOf(host, container.pid, [
    ...['/bin/sh', '-c', preparation, 'sh'],
    ...[passwdEntry({ ...user, shell: '' }), String(groups.length), ...groups],
    ...(profile.shell === undefined ? shells : [profile.shell]),
  ]);
  const found = await run(call).catch(async (error: unknown) => {
    const ownShell = profile.shell;
    const late = error instanceof BerthError && error.code === 'container-start-deadline';
    if (ownShell === undefined || late) throw error;
    // No /bin/sh, and the profile needs none.
    const tried = { words: [ownShell, '-c', ':'], cwd: '/' };
    return run(runtimeExec(host, container, tried));
  });
  return profile.shell ?? (found.trim() === '' ? '/bin/sh' : found.trim());
}

/**
 * Builtins of every POSIX shell. Of two lines with the same number or name the first counts, so ours
 * come first: the site's names are those of the mounted file systems, whatever the image calls them.
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

/** @param deadline of the whole start, by performance.now() */
async function runWithin(
  { file, args, env }: ProgramCall,
  deadline: number,
  { deadlineMs }: Profile,
): Promise<string> {
  const timeout = Math.max(1, Math.ceil(deadline - performance.now()));
  const { error, stdout, stderr } = await runProgram(file, args.slice(1), {
    ...{ env: { ...env }, cwd: '/', timeout, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 },
  });
  if (error !== undefined) throw startError(error, stderr, deadlineMs);
  return stdout;
}

/** What is left of a container that ended, or did not come up. */
function removeCall(host: SessionHost, name: string): ProgramCall {
  return podmanCall(host, ['rm', '--force', '--volumes', '--time', '0', '--ignore', name]);
}
