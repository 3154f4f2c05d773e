import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { BerthError } from '../../../system/errors/berth-error.ts';
import type { ProgramCall } from '../../../system/program/program-call.ts';
import type { SessionHost } from '../../request/session-host.ts';
import { serverPort } from '../../request/session-request.ts';
import { controllingTerminalSize, isTerminal } from '../../../system/controlling-terminal.ts';
import type { LoginSession } from '../backend.ts';
import { containerName } from './argv/podman-run.ts';
import { containerSession, sessionCommand, type StartFile } from './argv/session-command.ts';
import { containerFilesDir, runningContainer } from './running-container.ts';
import type { startWithFallback as StartWithFallback } from './start-container.ts';

/**
 * Finds or starts the user's container. If it is already running, this reads a few small files and starts no process.
 *
 * @returns the program that replaces the login: it joins the container
 * @throws {BerthError} `session-start-file-failed`, the errors of `startContainer`
 */
export async function openContainerSession(
  login: LoginSession,
): Promise<ProgramCall | 'host-shell'> {
  const { host, profile, request, env } = login;
  const name = containerName(profile, host.connection);
  const running = runningContainer(host, name);
  const container = running ?? (await startAnew(login, name));
  if (container === 'host-shell') return container;
  login.onBeforeStart();
  await noteAndTell(login, running === undefined);
  // The session gets the previous umask through its argv; the OCI runtime sets one of its own.
  const umask = process.umask(0o022);
  const session = {
    ...containerSession(host, container, { request, profile, env, umask }),
    ...(request.tty && { terminalSize: await controllingTerminalSize() }),
  };
  const { startFile, ...call } = sessionCommand(host, container, session, startFilePath(host));
  writeStartFile(startFile);
  login.onStarted();
  return call;
}

/** Imported only if no container is running: what starts one takes longer to load than everything above. */
async function startAnew(login: LoginSession, name: string): ReturnType<typeof StartWithFallback> {
  const { startWithFallback } = await import('./start-container.ts');
  return startWithFallback(login, name);
}

/** Lets the user find a container on another login node. Does nothing in a job, and for a command in a running container. */
async function noteAndTell(
  { host: { user, jobDirectory }, profile, request, env }: LoginSession,
  isNew: boolean,
): Promise<void> {
  const isInteractive = request.kind === 'shell' && request.tty;
  const isFoundOtherwise = jobDirectory !== undefined || profile.lifetime.kind === 'connection';
  if (isFoundOtherwise || !(isNew || isInteractive)) return;
  const { tellOtherContainers, writeContainerNote } = await import('./container-notes.ts');
  const here = { host: hostname(), profile: profile.name };
  const port = serverPort(env.SSH_CONNECTION);
  if (isNew) writeContainerNote(user, { ...here, since: Date.now(), port });
  if (isInteractive && isTerminal(2)) tellOtherContainers(user, here, Date.now());
}

/** The program that reads the file starts at once; an older file is a leftover. Milliseconds. */
const readMs = 60_000;

/**
 * Path of the file from which the program that replaces the login reads its argv or its environment. The
 * directory belongs to the user. The reader does not remove the file; a later login does, and so does the
 * cleanup of the connection whose ID is in the name.
 */
function startFilePath({ runtimeDir, connection = '0.0' }: SessionHost): string {
  return `${containerFilesDir(runtimeDir)}/exec-${connection}.${process.pid}`;
}

/** Writes the file, mode 0600, and removes leftovers of earlier logins. */
function writeStartFile({ path, text }: StartFile): void {
  try {
    const directory = dirname(path);
    for (const name of readdirSync(directory)) {
      const file = `${directory}/${name}`;
      if (
        name.startsWith('exec-') &&
        Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > readMs
      )
        rmSync(file, { force: true });
    }
    writeFileSync(path, text, { mode: 0o600 });
  } catch (thrown) {
    throw new BerthError(
      'session-start-file-failed',
      `could not write the session's start file ${path}`,
      {
        cause: thrown,
      },
    );
  }
}
