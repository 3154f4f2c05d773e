import { readdirSync } from 'node:fs';
import { backendOf } from '../../sessions/backends/backends.ts';
import { openInBackend } from '../../sessions/backends/open-in-backend.ts';
import { runDir } from '../../config/schema/default-settings.ts';
import { backends, type Profile } from '../../config/schema/profile/profile.ts';
import { runtimeDirOf } from '../../sessions/connections/runtime-dir.ts';
import { userConnectionsDir } from '../../sessions/connections/state-paths.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { currentUser } from '../../system/identity/nss.ts';
import { escapeControl, lineLogger } from '../../log.ts';
import type { ProgramCall } from '../../system/program/program-call.ts';
import { sessionRequest } from '../../sessions/request/session-request.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { runProgram } from '../../system/run-program.ts';

/** How long it waits for a job in the queue: `berth doctor` waits a little longer. Milliseconds. */
const mostWaitMs = 60_000;

export interface TestSessionInput {
  /** Path of ssh.yml. */
  readonly configFile: string;
  /** Name of the profile. */
  readonly profile: string;
  readonly backend: string;
  /** ID of the connection that doctor recorded. */
  readonly connection: string;
  /** Directory of the bundled file-transfer programs on the host. */
  readonly toolsDir: string;
}

/**
 * Runs `true` as a session of the user that runs this process, with the arguments of a login, in a container, pod or job of its own: one
 * that other connections of the user share is not touched. The connection must be recorded before, and its close
 * removes it.
 *
 * @throws {BerthError} `profile-missing`, `test-session-failed`; the errors of `loadSshSettings`, `runtimeDirOf` and
 *   `openInBackend`
 */
export async function runTestSession({
  configFile,
  connection,
  toolsDir,
  ...wanted
}: TestSessionInput): Promise<void> {
  const { profiles, storage, podman } = await loadSshSettings({ configFile });
  const chosen = profiles.get(wanted.profile);
  if (chosen === undefined)
    throw new BerthError('profile-missing', `there is no profile ${wanted.profile}`, {
      hint: 'Run `berth doctor` again: the configuration has changed meanwhile.',
    });
  const profile: Profile = {
    ...chosen,
    backend: backends.find((one) => one === wanted.backend) ?? chosen.backend,
    lifetime: { kind: 'connection' },
    pod: { ...chosen.pod, forwards: false },
    batch: { ...chosen.batch, waitMs: mostWaitMs },
    failure: { ...chosen.failure, action: 'refuse' },
  };
  const user = currentUser({ minimumUid: 1 });
  if (!readdirSync(userConnectionsDir({ run: runDir }, user.uid)).includes(connection))
    throw testSessionFailed(
      'the connection that doctor recorded for it has ended',
      'Run `berth doctor` again. If another `berth reap` ran at the same time, it may have removed the connection.',
    );
  const opened = await openInBackend({
    host: { user, storage, podman, connection, runtimeDir: runtimeDirOf(user) },
    request: sessionRequest(['-c', 'true'], undefined, false),
    profile,
    env: {},
    toolsDir,
    log: lineLogger(() => undefined),
    onBeforeStart: () => undefined,
    onStarted: () => undefined,
  });
  // The profile gives no shell on the host.
  if (opened === 'host-shell') return;
  const ended = 'exitCode' in opened ? String(opened.exitCode) : await run(opened, profile);
  if (ended === '0') return;
  throw testSessionFailed(
    `the ${backendOf(profile).noun} started, but \`true\` in it ended with ${ended}`,
    'Check that the image has a shell, and that it can run where its sessions run: compare its architecture with `uname -m`.',
  );
}

/** @returns its exit code, or how it ended otherwise. @throws {BerthError} `test-session-failed` */
async function run({ file, args, env }: ProgramCall, { deadlineMs }: Profile): Promise<string> {
  const { error, stderr } = await runProgram(file, args.slice(1), {
    env,
    timeoutMs: deadlineMs,
    killSignal: 'SIGKILL',
  });
  if (error === undefined) return '0';
  const said = escapeControl(stderr.trim()).slice(0, 500);
  const why = said === '' ? '' : `: ${said}`;
  if (error.killed !== true) return `${String(error.code ?? error.signal)}${why}`;
  throw testSessionFailed(
    `the container started, but \`true\` in it did not end within ${deadlineMs / 1000} s${why}`,
    'Look for processes in state D, which wait for a file system: `ps -eo pid,stat,user,wchan:20,args`, `dmesg`.',
  );
}

function testSessionFailed(message: string, hint: string): BerthError {
  return new BerthError('test-session-failed', message, { hint });
}
