import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError } from '../../errors/berth-error.ts';
import type { ProgramCallWithFile } from '../../program-call.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { containerFilesDir } from './running-container.ts';

/** The program that reads the file starts at once; an older file is a leftover. Milliseconds. */
const readMs = 60_000;

/**
 * Path of the file from which the program that replaces the login reads its argv or its environment. The
 * directory belongs to the user. The reader does not remove the file; a later login does, and so does the
 * cleanup of the connection whose ID is in the name.
 */
export function startFilePath(
  { runtimeDir, connection = '0.0' }: Pick<SessionHost, 'runtimeDir' | 'connection'>,
  pid: number,
): string {
  return `${containerFilesDir(runtimeDir)}/exec-${connection}.${pid}`;
}

/**
 * Writes the file, mode 0600, and removes leftovers of earlier logins.
 *
 * @throws {BerthError} `session-start-file-failed`
 */
export function writeStartFile({ path, text }: ProgramCallWithFile['given']): void {
  try {
    const directory = dirname(path);
    for (const name of readdirSync(directory)) {
      const file = `${directory}/${name}`;
      if (name.startsWith('exec-') && Date.now() - changed(file) > readMs)
        rmSync(file, { force: true });
    }
    writeFileSync(path, text, { mode: 0o600 });
  } catch (thrown) {
    throw new BerthError(`could not write the session's start file ${path}`, {
      code: 'session-start-file-failed',
      cause: thrown,
    });
  }
}

function changed(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
}
