import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { transferToolsDir } from '../../../config/schema/bundled-transfer-argv.ts';
import type { Profile } from '../../../config/schema/profile/profile.ts';
import { isWithin } from '../../../config/schema/profile/mount-path.ts';
import { asBerthError, BerthError } from '../../../system/errors/berth-error.ts';
import type { ProgramCall } from '../../../system/program/program-call.ts';
import { writeAtomically, writeError } from '../../../system/atomic-file.ts';
import { takeLock } from '../../../system/file-lock.ts';
import { groupEntries, groupNamesOf } from '../../../system/group-names.ts';
import { processStartTime } from '../../../system/process-start.ts';
import { userManagerUnit } from '../../../system/process-unit.ts';
import { runProgram } from '../../../system/run-program.ts';
import { readUserFile } from '../../../system/user-file.ts';
import {
  type ContainerFile,
  containerFilePath,
  containerFilesDir,
  pausePid,
  runningContainer,
  validatedPausePid,
} from './running-container.ts';
import { type SessionHost, userStorageDir } from '../../request/session-host.ts';
import type { LoginSession } from '../backend.ts';
import { ownLocks, podmanCommand } from './argv/podman-argv.ts';
import { terminalRelay } from './argv/session-command.ts';
import { containerPidFile, podmanRunCommand } from './argv/podman-run.ts';
import {
  detectIdMaps,
  homeInside,
  imageEnvironment,
  prepareInside,
  readProcessLimits,
  type Run,
  waitForInit,
} from './prepare-container.ts';
import { podmanStartError } from './podman-start-errors.ts';
import { type PodmanOfUser, withRepairedStore } from './repair-store.ts';
import { resolveMounts } from './resolve-mounts.ts';
import { assertCgroupLimits, assertMounted, mountOrigins } from './verify-container.ts';

interface StartContainerInput extends LoginSession {
  readonly name: string;
  /** Used instead of the profile's image, after that failed. */
  readonly image?: string;
}

type Started = NonNullable<ReturnType<typeof runningContainer>>;

/**
 * Starts the container. If that fails, does what the profile's `on_failure` says: starts another image, or
 * gives a shell on the host to members of its groups. The log has the cause of the failure and what was
 * started instead.
 *
 * @throws {BerthError} the errors of `startContainer`, if the policy is `refuse` or the fallback image fails too
 */
export async function startWithFallback(
  login: LoginSession,
  name: string,
): Promise<Started | 'host-shell'> {
  const { profile, log } = login;
  try {
    return await startContainer({ ...login, name });
  } catch (thrown) {
    const error = asBerthError(thrown, 'starting the container');
    const { action, image, groups } = profile.failure;
    const fields = { profile: profile.name };
    if (action === 'fallback' && image !== undefined) {
      log.error(error, { ...fields, instead: image });
      return startContainer({ ...login, name, image });
    }
    if (action === 'host-shell' && groupNamesOf().some((group) => groups.includes(group))) {
      log.error(error, { ...fields, instead: 'a shell on the host' });
      return 'host-shell';
    }
    throw error;
  }
}

/** The lock is on a local file system, so its owner can always be checked. Milliseconds. */
const foreignStaleMs = 60_000;

/**
 * Starts the container of this name. Of several logins at the same moment one starts it, and the others wait.
 *
 * @throws {BerthError} `session-mount-missing`, `container-start-deadline`, `container-ended`, `lock-timeout`, and
 *   the errors of `podmanStartError`
 */
async function startContainer(input: StartContainerInput): Promise<Started> {
  const { host, profile, name } = input;
  const { runtimeDir } = host;
  const running = (): ReturnType<typeof runningContainer> => runningContainer(host, name);
  const deadline = performance.now() + profile.deadlineMs;
  await makeDirectory(containerFilesDir(runtimeDir));
  const lock = await takeLock(`${containerFilesDir(runtimeDir)}/${name}.lock`, {
    timeoutMs: profile.deadlineMs,
    foreignStaleMs,
    stopWaitingIf: () => running() !== undefined,
  });
  try {
    if (lock !== undefined) await startWithRepair(input, deadline);
  } finally {
    await lock?.release();
  }
  const container = running();
  if (container === undefined)
    throw new BerthError(
      'container-ended',
      `the container ${name} ended immediately after it was started`,
    );
  return container;
}

async function startWithRepair(input: StartContainerInput, deadline: number): Promise<void> {
  const { host, profile } = input;
  const user: PodmanOfUser = {
    podman: (args) => runWithin(podmanCommand(host, args), deadline, profile),
    asOwner: (work) => work(),
    timeoutMs: profile.deadlineMs,
  };
  await withRepairedStore(host, user, () => start(input, deadline));
}

async function start(input: StartContainerInput, deadline: number): Promise<void> {
  const { host, profile, name, image, toolsDir } = input;
  const run: Run = (call) => runWithin(call, deadline, profile);
  const { runtime } = host.podman;
  assertOwnDirectory(host);
  await writeContainersConf(host);
  validatedPausePid(host);
  const { mounts, checked } = resolveMounts(profile, host, toolsDir);
  const origins = mountOrigins(checked);
  const maps = await detectIdMaps(host, run);
  const call = podmanRunCommand(host, profile, {
    mounts,
    image,
    maps,
  });
  // --replace would remove a former container without its volumes.
  if (existsSync(containerFilePath(host.runtimeDir, name))) await run(removeCall(host, name));
  // Group names are looked up while podman runs.
  const [printed, groups, version] = await Promise.all([
    run(call),
    groupEntries([...new Set([host.user.gid, ...host.user.groups])]),
    // If the runtime does not work, podman's error says more.
    run({ file: runtime, args: [runtime, '--version'], env: {} }).catch(() => ''),
  ]);
  // --replace prints the ID of the removed container first.
  const id = printed.trim().split('\n').at(-1) ?? '';
  const pid = await containerPid(host, name);
  await waitForInit(input, pid, deadline);
  try {
    assertMounted(pid, origins, profile);
  } catch (error) {
    await run(removeCall(host, name));
    throw error;
  }
  assertCgroupLimits(pid, profile);
  const inUserManager = userManagerUnit(pid, host.user.uid) !== undefined;
  const container = { id, pausePid: pausePid(host) ?? 0, inUserManager };
  const shell = await prepareInside(input, { ...container, pid, groups }, run);
  const homeMounted = mounts.some(({ target }) => isWithin(host.user.home, target));
  const note: ContainerFile = {
    id,
    pid,
    inUserManager,
    start: processStartTime(pid) ?? '',
    env: await imageEnvironment(pid),
    shell,
    cwd: homeMounted ? host.user.home : await homeInside(input, { ...container, shell }, run),
    hasBundledTools: mounts.some(({ target }) => target === transferToolsDir),
    terminalRelay: terminalRelay(runtime, version),
    limits: await readProcessLimits(host, container, run),
  };
  await writeAtomically(containerFilePath(host.runtimeDir, name), JSON.stringify(note), {
    mode: 0o600,
    replaceable: true,
  });
}

/** Root creates this directory, since only root may create directories next to those of other users. */
function assertOwnDirectory(host: SessionHost): void {
  const directory = userStorageDir(host);
  if (statSync(directory, { throwIfNoEntry: false })?.uid === host.user.uid) return;
  throw new BerthError(
    'session-directory-missing',
    `you have no storage directory on this machine: ${directory}`,
    {
      fields: { file: directory },
    },
  );
}

/** All podman commands of the user read it, also those of a cleanup. */
async function writeContainersConf(host: SessionHost): Promise<void> {
  const directory = `${userStorageDir(host)}/.config/containers`;
  const file = `${directory}/containers.conf`;
  if (existsSync(file)) return;
  await makeDirectory(directory);
  await writeAtomically(file, ownLocks, { mode: 0o600 });
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw writeError(path, cause);
  }
}

/** From the file that podman has just written; NaN if it is not readable as such. */
async function containerPid(host: SessionHost, name: string): Promise<number> {
  const demands = { uid: host.user.uid, maximumBytes: 32 };
  const text = await readUserFile(containerPidFile(host, name), demands);
  return Number.parseInt(text?.toString('latin1') ?? '', 10);
}

/** @param deadline Of the whole start, by performance.now(). */
async function runWithin(
  { file, args, env }: ProgramCall,
  deadline: number,
  { deadlineMs }: Profile,
): Promise<string> {
  const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()));
  const { error, stdout, stderr } = await runProgram(file, args.slice(1), {
    env,
    timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: 1024 * 1024,
  });
  if (error !== undefined) throw podmanStartError(error, stderr, deadlineMs);
  return stdout;
}

/** Removes what is left of a container that ended or did not start. */
function removeCall(host: SessionHost, name: string): ProgramCall {
  return podmanCommand(host, ['rm', '--force', '--volumes', '--time', '0', '--ignore', name]);
}
