import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';

/**
 * The path of a file that a command is told to write: in a directory that is there.
 *
 * @param option with its dashes
 * @throws {BerthError} `usage`
 */
export function outputFile(option: string, value: string): string {
  const path = inDirectory(option, value);
  if (isDirectory(path) === true)
    throw usage(`${option} ${value} is a directory`, 'Name a file in it.');
  return path;
}

/** The same of a directory, which need not be there yet. @throws {BerthError} `usage` */
export function outputDirectory(option: string, value: string): string {
  const path = inDirectory(option, value);
  if (isDirectory(path) === false)
    throw usage(`${option} ${value} is not a directory`, 'Name a directory, or a new one.');
  return path;
}

/**
 * The path of a file that a unit of systemd writes where its directory is there.
 *
 * @param value after a `-`, no file is wanted if its directory is not there, such as that of node_exporter
 * @throws {BerthError} `usage`
 */
export function optionalOutputFile(option: string, value: string | undefined): string | undefined {
  if (value?.startsWith('-') !== true)
    return value === undefined ? undefined : outputFile(option, value);
  const path = value.slice(1);
  return isDirectory(dirname(path)) === undefined ? undefined : outputFile(option, path);
}

function inDirectory(option: string, value: string): string {
  const path = resolve(value);
  if (isDirectory(dirname(path)) !== true)
    throw usage(
      `${option} ${value}: there is no directory ${dirname(path)}`,
      'Correct the option, or make the directory first.',
    );
  return path;
}

/** Undefined if there is nothing of that name. */
function isDirectory(path: string): boolean | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory();
}

function usage(message: string, hint: string): BerthError {
  return new BerthError('usage', message, { hint });
}

/** @throws {BerthError} `usage` for a value that is not a TCP port, such as two values */
export function checkPort(port: unknown, given: unknown = port): number {
  if (typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65_535)
    return port;
  throw new BerthError('usage', `--port ${String(given)}: must be a port from 1 to 65535`, {
    hint: 'See `Port` in sshd_config.',
  });
}
