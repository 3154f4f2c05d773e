import { sourceText } from '../../../source-text.ts';

/**
 * A shell function (`proc.sh`) for scripts that read a pod's /proc: `facts PID` sets `state`, `parent`, `group`,
 * `session` and `start` from /proc/PID/stat (proc(5)), and fails if the process has ended. Only the fields after
 * the last `)` are read: the process chooses what stands before it.
 */
export const procScript = sourceText('./proc.sh', import.meta.url);
