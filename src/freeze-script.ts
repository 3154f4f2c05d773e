import { sourceText } from './source-text.ts';

/**
 * Shell functions (`freeze.sh`) that stop every process which the shell may signal in its PID namespace, except
 * the shell itself. kill(2) with -1 stops all of them at one moment, because it holds the lock that fork(2)
 * needs.
 *
 * - `freeze` stops them. They continue when the shell exits or, if the shell was killed, after 15 seconds: on a
 *   busy host one look at all processes may need some of them.
 * - `hold` stops nothing. After it, too, all processes continue when the shell exits, so a caller can first stop
 *   some of them one by one.
 * - `thaw` continues all of them. `thawed` is for a caller that has continued each of them itself.
 * - `last` sets `last` to the PID that was assigned last.
 */
export const freezeScript = sourceText('./freeze.sh', import.meta.url);
