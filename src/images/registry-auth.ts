import { readFileSync, statSync } from 'node:fs';
import { BerthError, isErrno } from '../errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { asMapping } from '../mapping.ts';

const largest = 1024 * 1024;

/**
 * Checks the registry credentials before podman reads them: it would wait for ever for the contents of a FIFO, and some of its
 * messages read like those of a registry.
 *
 * @throws {BerthError} `registry-auth-invalid`
 */
export function assertRegistryAuth(file: string): void {
  const problem = problemOf(file);
  if (problem === undefined) return;
  throw new BerthError(`the registry credentials in ${escapeControl(file)}: ${problem}`, {
    code: 'registry-auth-invalid',
    fields: { file },
  });
}

function problemOf(file: string): string | undefined {
  try {
    const status = statSync(file);
    if (!status.isFile()) return 'not a regular file';
    if (status.size > largest) return 'larger than 1 MiB';
    const text = readFileSync(file, 'utf8');
    return text === '' || asMapping(JSON.parse(text)) !== undefined
      ? undefined
      : 'not a JSON object';
  } catch (error) {
    // The parser's message would quote a secret.
    if (error instanceof SyntaxError) return 'not JSON';
    if (isErrno(error)) return String(error.code);
    throw error;
  }
}
