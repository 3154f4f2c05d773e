import { runDir } from '../../config/default-settings.ts';
import { BerthError } from '../../errors.ts';
import { currentUser } from '../../identity/nss.ts';
import { escapeControl } from '../../log.ts';
import { loadSshSettings } from '../../settings/load-ssh-settings.ts';
import { runProgram } from '../../system/run-program.ts';
import { currentConnection } from '../../system/ssh-connection.ts';
import { runtimeDirOf } from '../connections/runtime-dir.ts';
import { userConnectionsDir } from '../connections/state-paths.ts';
import { containerName } from '../podman/argv/podman-run.ts';
import { containerSession, sessionCommand } from '../podman/argv/session-command.ts';
import { startContainer } from '../podman/start-container.ts';
import type { SessionHost } from '../request/session-host.ts';
import { sessionRequest } from '../request/session-request.ts';
import { startFilePath, writeStartFile } from './exec-handoff-file.ts';

export interface TrySessionInput {
  /** Path of ssh.yml. */
  readonly configFile: string;
  /** Name of the profile. */
  readonly profile: string;
  /** Directory of the bundled file-transfer programs on the host. */
  readonly toolsDir: string;
}

/**
 * Runs `true` as a session of the user that runs this process, with the arguments of a login, in a container of its own: one
 * that other connections of the user share is not touched. The connection must be recorded before, and its close
 * removes the container.
 *
 * @throws {BerthError} `profile-missing`, `session-trial-failed`; the errors of `loadSshSettings`, `runtimeDirOf` and
 *   `startContainer`
 */
export async function trySession({
  configFile,
  toolsDir,
  ...wanted
}: TrySessionInput): Promise<void> {
  const { profiles, storage, podman } = await loadSshSettings({ configFile });
  const chosen = profiles.get(wanted.profile);
  if (chosen === undefined)
    throw new BerthError(`there is no profile ${wanted.profile}`, {
      code: 'profile-missing',
      hint: 'Run `berth doctor` again: the configuration has changed meanwhile.',
    });
  const profile = { ...chosen, lifetime: { kind: 'connection' } as const };
  const user = currentUser({ minimumUid: 1 });
  const connection = currentConnection(userConnectionsDir({ run: runDir }, user.uid), user.uid);
  if (connection === undefined)
    throw trialFailed('the process that doctor recorded for it has ended');
  const host: SessionHost = { user, storage, podman, connection, runtimeDir: runtimeDirOf(user) };
  const name = containerName(profile, connection);
  const container = await startContainer({ host, profile, name, toolsDir });
  const request = sessionRequest(['-c', 'true'], undefined, false);
  const session = containerSession(host, container, { request, profile, env: {}, umask: 0o022 });
  const call = sessionCommand(host, container, session, startFilePath(host, process.pid));
  writeStartFile(call.given);
  const { error, stderr } = await runProgram(call.file, call.args.slice(1), {
    ...{ env: { ...call.env }, cwd: '/', timeout: profile.deadlineMs, killSignal: 'SIGKILL' },
  });
  if (error === undefined) return;
  const how =
    error.killed === true
      ? `did not end within ${profile.deadlineMs / 1000} s`
      : `ended with ${String(error.code ?? error.signal)}`;
  const said = escapeControl(stderr.trim()).slice(0, 500);
  throw trialFailed(`\`true\` ${how}${said === '' ? '' : `: ${said}`}`);
}

function trialFailed(what: string): BerthError {
  return new BerthError(`a container was started, but not a session in it: ${what}`, {
    code: 'session-trial-failed',
    hint: 'Check that the image has a shell, and that it can run on this host: compare its architecture with `uname -m`.',
  });
}
