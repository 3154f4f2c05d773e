import { readdirSync } from 'node:fs';
import { runDir } from '../../config/schema/default-settings.ts';
import { BerthError } from '../../errors/berth-error.ts';
import { currentUser } from '../../identity/nss.ts';
import { escapeControl, logfmtLogger } from '../../log.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { runProgram } from '../../system/run-program.ts';
import { runtimeDirOf } from '../../connections/runtime-dir.ts';
import { userConnectionsDir } from '../../connections/state-paths.ts';
import { containerName } from '../../backends/podman/argv/podman-run.ts';
import { containerSession, sessionCommand } from '../../backends/podman/argv/session-command.ts';
import { startContainer } from '../../backends/podman/start-container.ts';
import type { PodSessionInput } from '../../backends/pod/open-pod-session.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { sessionRequest } from '../../session/session-request.ts';
import { startFilePath, writeStartFile } from '../../backends/podman/exec-handoff-file.ts';

export interface TestSessionInput {
  /** Path of ssh.yml. */
  readonly configFile: string;
  /** Name of the profile. */
  readonly profile: string;
  /** ID of the connection that doctor recorded. */
  readonly connection: string;
  /** Directory of the bundled file-transfer programs on the host. */
  readonly toolsDir: string;
}

/**
 * Runs `true` as a session of the user that runs this process, with the arguments of a login, in a container or pod of its own: one
 * that other connections of the user share is not touched. The connection must be recorded before, and its close
 * removes it.
 *
 * @throws {BerthError} `profile-missing`, `test-session-failed`; the errors of `loadSshSettings`, `runtimeDirOf` and
 *   `startContainer`
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
    throw new BerthError(`there is no profile ${wanted.profile}`, {
      code: 'profile-missing',
      hint: 'Run `berth doctor` again: the configuration has changed meanwhile.',
    });
  const profile = {
    ...chosen,
    lifetime: { kind: 'connection' } as const,
    pod: { ...chosen.pod, forwards: false },
  };
  const user = currentUser({ minimumUid: 1 });
  if (!readdirSync(userConnectionsDir({ run: runDir }, user.uid)).includes(connection))
    throw testSessionFailed(
      'the connection that doctor recorded for it has ended',
      'Run `berth doctor` again. If another `berth reap` ran at the same time, it may have removed the connection.',
    );
  const host: SessionHost = { user, storage, podman, connection, runtimeDir: runtimeDirOf(user) };
  const request = sessionRequest(['-c', 'true'], undefined, false);
  if (profile.backend === 'pod') {
    await runInPod({ host, profile, request, toolsDir });
    return;
  }
  const name = containerName(profile, connection);
  const container = await startContainer({ host, profile, name, toolsDir });
  const session = containerSession(host, container, { request, profile, env: {}, umask: 0o022 });
  const call = sessionCommand(host, container, session, startFilePath(host, process.pid));
  writeStartFile(call.given);
  const { error, stderr } = await runProgram(call.file, call.args.slice(1), {
    ...{ env: { ...call.env }, cwd: '/', timeout: profile.deadlineMs, killSignal: 'SIGKILL' },
  });
  if (error === undefined) return;
  const said = escapeControl(stderr.trim()).slice(0, 500);
  const why = said === '' ? '' : `: ${said}`;
  throw error.killed === true
    ? testSessionFailed(
        `the container started, but \`true\` in it did not end within ${profile.deadlineMs / 1000} s${why}`,
        'Look for processes in state D, which wait for a file system: `ps -eo pid,stat,user,wchan:20,args`, `dmesg`.',
      )
    : testSessionFailed(
        `the container started, but \`true\` in it ended with ${String(error.code ?? error.signal)}${why}`,
        'Check that the image has a shell, and that it can run on this host: compare its architecture with `uname -m`.',
      );
}

/** @throws {BerthError} `test-session-failed`; the errors of `openPodSession` */
async function runInPod(
  input: Pick<PodSessionInput, 'host' | 'profile' | 'request' | 'toolsDir'>,
): Promise<void> {
  const { openPodSession } = await import('../../backends/pod/open-pod-session.ts');
  const log = logfmtLogger(() => undefined);
  const exitCode = await openPodSession({ ...input, env: {}, umask: 0o022, log });
  if (exitCode !== 0)
    throw testSessionFailed(
      `the pod started, but \`true\` in it ended with ${exitCode}`,
      "Check that the image has a shell, and that it can run on the cluster's nodes.",
    );
}

function testSessionFailed(message: string, hint: string): BerthError {
  return new BerthError(message, { code: 'test-session-failed', hint });
}
