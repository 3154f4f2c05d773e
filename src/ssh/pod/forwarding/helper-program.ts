import { sourceText } from '../../../source-text.ts';
import { initialWindow, maxEndpoints } from './protocol/limits.ts';

/** The Python program that runs in the pod (`helper/helper.py`). It is sent on the exec's standard input. */
export const helperProgram = [
  `ROOM, MOST_PLACES = ${initialWindow}, ${4 * maxEndpoints}\n`,
  sourceText('./helper/listeners.py', import.meta.url),
  sourceText('./helper/helper.py', import.meta.url),
].join('');

/**
 * The argv of the exec: it reads `helperProgram` from standard input and runs it. It exits with 127, without a
 * message, where the image has no Python 3: neither `python3` nor the interpreter that RHEL keeps for its own
 * tools.
 */
export function helperArgv(): string[] {
  const start = sourceText('./helper/start.sh', import.meta.url);
  const bootstrap = sourceText('./helper/bootstrap.py', import.meta.url);
  return ['/bin/sh', '-c', start, String(Buffer.byteLength(helperProgram)), bootstrap];
}
