import { readPrivateFile, writePrivateFile } from '../system/private-file.ts';

/**
 * When servers were last asked in vain, by name, in seconds since the epoch. Only saves time: if it is lost, the next
 * hook waits for these servers as the last one did.
 */
export type AttemptTimes = ReadonlyMap<string, number>;

const maximumBytes = 256 * 1024;

/** @returns an empty map if there is no file, or an unusable one */
export function readAttemptTimes(file: string): AttemptTimes {
  try {
    const text = readPrivateFile(file, 0, maximumBytes);
    const value = JSON.parse(text ?? '{}') as Readonly<Record<string, unknown>>;
    return new Map(
      Object.entries(value).flatMap(([name, since]): [string, number][] =>
        typeof since === 'number' ? [[name, since]] : [],
      ),
    );
  } catch {
    // Truncated by a power failure, or not owned by root: every server is asked.
    return new Map();
  }
}

/** @throws what `writePrivateFile` throws */
export function writeAttemptTimes(file: string, times: AttemptTimes): void {
  writePrivateFile(file, JSON.stringify(Object.fromEntries(times)));
}

/** Whether that was less than `seconds` ago. A time in the future is ignored: the clock was set back. */
export function isRecent(since: number | undefined, now: number, seconds: number): boolean {
  return since !== undefined && since <= now && now - since < seconds;
}

/** The next step for whoever reads that a server was skipped. */
export function skippedHint(seconds: number): string {
  return `\`journalctl -t berth\` has the reason, in the log lines of the earlier login. \`berth doctor\` checks the connection now; a login tries again after ${seconds} s.`;
}
