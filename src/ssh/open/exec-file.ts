import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError } from '../../errors.ts';
import type { GivenCall } from '../../program-call.ts';
import type { SessionHost } from '../request/session-host.ts';
import { noteFolder } from '../podman/running-container.ts';

/** Its reader reads it at once. Milliseconds. */
const readMs = 60_000;

/**
 * Where the process that a login becomes reads what it runs: in a folder of the user's alone. Who could
 * remove it after that is the reader itself, which does not: so a later login does, and the close of the
 * connection, which removes every note that has its ID.
 */
export function execFile(
  { runFolder, connection = '0.0' }: Pick<SessionHost, 'runFolder' | 'connection'>,
  pid: number,
): string {
  return `${noteFolder(runFolder)}/exec-${connection}.${pid}`;
}

/** @throws {BerthError} `exec-file-failed` */
export function writeExecFile({ path, text }: GivenCall['given']): void {
  try {
    const folder = dirname(path);
    for (const name of readdirSync(folder)) {
      const file = `${folder}/${name}`;
      if (name.startsWith('exec-') && Date.now() - changed(file) > readMs)
        rmSync(file, { force: true });
    }
    writeFileSync(path, text, { mode: 0o600 });
  } catch (thrown) {
    throw new BerthError(`cannot write the session's start file ${path}`, {
      code: 'exec-file-failed',
      exit: 'io',
      hint: 'Is its file system full? See df -h and df -i of that directory.',
      cause: thrown,
    });
  }
}

function changed(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
}
