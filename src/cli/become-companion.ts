import { dirname, join } from 'node:path';
import { asBerthError } from '../system/errors/berth-error.ts';
import { execProcess } from '../system/exec-process.ts';
import type { CompanionCall } from './companions.ts';
import { type Terminal, reportError } from './kit/terminal.ts';

/** Replaces this process by the program of a companion, in the directory of `berth`. */
export function becomeCompanion({ name, words }: CompanionCall, terminal: Terminal): void {
  const program = `berth-${name}`;
  const file = join(dirname(terminal.program), program);
  try {
    const env = terminal.env as Readonly<Record<string, string>>;
    execProcess({ file, args: [file, ...words], env });
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, program));
  }
}
