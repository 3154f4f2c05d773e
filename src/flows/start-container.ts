import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import type { Profile } from '../config/profile.ts';
import { BerthError } from '../errors.ts';
import { containerRun, pidFile } from '../session/container-run.ts';
import { runtimeExec, type WarmContainer } from '../session/runtime-exec.ts';
import { podmanCall } from '../session/podman-call.ts';
import { userFolder, type ProgramCall, type SessionHost } from '../session/session-host.ts';
import { filesInside } from '../session/session-words.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import { takeLock } from '../system/owner-lock.ts';
import { startOf } from '../system/process-start.ts';
import { readyMounts } from './ready-mounts.ts';
import { startError } from './start-errors.ts';
import {
  noteFile,
  noteFolder,
  pausePid,
  warmContainer,
  type ContainerNote,
} from './warm-container.ts';

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
  const warm = (): ReturnType<typeof warmContainer> => warmContainer(runFolder, name);
  await mkdir(noteFolder(runFolder), { recursive: true, mode: 0o700 });
  const lock = await takeLock(`${noteFolder(runFolder)}/${name}.lock`, {
    waitMs: profile.deadlineMs,
    foreignStaleMs,
    enough: () => warm() !== undefined,
  });
  try {
    if (lock !== undefined) await start(input);
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

async function start(input: StartInput): Promise<void> {
  const { host, profile, name, image, filesFolder } = input;
  assertOwnFolder(host);
  const { mounts } = readyMounts(profile, host, filesFolder);
  const { call } = containerRun(host, profile, {
    mounts,
    ...(image === undefined ? {} : { image }),
  });
  // --replace first prints what it removed.
  const id = (await run(call, profile.deadlineMs)).trim().split('\n').at(-1) ?? '';
  const pid = Number(await readFile(pidFile(host, name), 'utf8'));
  const note: ContainerNote = {
    id,
    pid,
    start: startOf(pid) ?? '',
    env: await imageEnvironment(pid),
    shell: await shellInside(input, { id, pausePid: pausePid(host.runFolder) }),
    bundledFiles: mounts.some(({ target }) => target === filesInside),
  };
  await writeAtomically(noteFile(host.runFolder, name), JSON.stringify(note), {
    mode: 0o600,
    replaceable: true,
  });
}

/** Root makes it: nobody else may make folders beside the other users'. */
function assertOwnFolder(host: SessionHost): void {
  const folder = userFolder(host);
  if (statSync(folder, { throwIfNoEntry: false })?.uid === host.user.uid) return;
  throw new BerthError(`you have no folder for containers on this machine: ${folder}`, {
    code: 'session-folder-missing',
    exit: 'config',
    hint: 'hooks/pam-session makes it at each login: see the session lines of /etc/pam.d/sshd.',
    fields: { file: folder },
  });
}

/** What `ENV` of the image says, as the container's first process has it. */
async function imageEnvironment(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  return text.split('\0').filter((pair) => pair !== '');
}

/**
 * The profile's shell, else the user's own where the image has it: asked of the image by running it,
 * since no other way leads through the user's file system of layers.
 */
async function shellInside(
  { host, profile }: StartInput,
  container: WarmContainer,
): Promise<string> {
  if (profile.shell !== undefined) return profile.shell;
  for (const shell of new Set([host.user.shell, '/bin/bash'])) {
    if (!shell.startsWith('/') || shell.endsWith('/shell/login')) continue;
    const probe = { words: [shell, '-c', ':'], tty: false, cwd: '/', env: {} };
    try {
      await run(runtimeExec(host, container, probe), profile.deadlineMs);
      return shell;
    } catch {
      // The image has none: the next one is tried.
    }
  }
  return '/bin/sh';
}

function run(call: ProgramCall, timeout: number): Promise<string> {
  const [, ...args] = call.args;
  return new Promise((resolve, reject) => {
    execFile(
      call.file,
      args,
      { env: { ...call.env }, cwd: '/', timeout, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(startError(error, stderr, timeout));
      },
    );
  });
}

/** Ends a container that did not come up, so that the next try meets nothing of it. */
export function removeCall(host: SessionHost, name: string): ProgramCall {
  return podmanCall(host, ['rm', '--force', '--time', '0', '--ignore', name]);
}
