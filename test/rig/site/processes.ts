import { open, readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { say } from './progress.ts';

/** A process that a site started: its pid alone may be recycled, pid and start time may not. */
export interface StartedProcess {
  readonly name: string;
  readonly pid: number;
  /** Start time in clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTime: string;
  readonly log: string;
}

export interface Start {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folder for the log and for the process's working directory. */
  readonly folder: string;
}

/** Starts a process in a session of its own, stdout and stderr into its log, and lets go of it. */
export async function startDetached(start: Start): Promise<StartedProcess> {
  const log = join(start.folder, `${start.name}.log`);
  const output = await open(log, 'a', 0o600);
  try {
    const child = spawn(start.command, start.args, {
      cwd: start.folder,
      detached: true,
      env: { PATH: process.env.PATH, HOME: start.folder, ...start.env },
      stdio: ['ignore', output.fd, output.fd],
    });
    await once(child, 'spawn');
    child.unref();
    const pid = child.pid ?? 0;
    return { name: start.name, pid, startTime: (await startTimeOf(pid)) ?? 'gone', log };
  } finally {
    await output.close();
  }
}

/** True while exactly this process runs; a zombie does not run. */
export async function isRunning({ pid, startTime }: StartedProcess): Promise<boolean> {
  return (await startTimeOf(pid)) === startTime;
}

/** @throws Error with the end of the log when the process is not running any more */
export async function assertRunning(started: StartedProcess): Promise<void> {
  if (await isRunning(started)) return;
  throw new Error(`${started.name} ended; the end of ${started.log}:\n${await logTail(started)}`);
}

/** The last lines of a process's log. */
async function logTail({ log }: StartedProcess, lines = 25): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '(no log)');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/**
 * Ends the processes in the order given, each with its whole process group: TERM, then KILL after
 * `graceMs`. A process that is gone or whose pid now belongs to somebody else is left alone.
 */
export async function stopAll(
  processes: readonly StartedProcess[],
  graceMs = 15_000,
): Promise<void> {
  for (const started of processes) {
    if (!(await isRunning(started))) continue;
    process.kill(-started.pid, 'SIGTERM');
    if (await groupEnds(started.pid, graceMs)) continue;
    say(`${started.name} did not end within ${graceMs / 1000} s of SIGTERM: SIGKILL`);
    process.kill(-started.pid, 'SIGKILL');
    await groupEnds(started.pid, graceMs);
  }
}

async function groupEnds(group: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (await groupIsRunning(group)) {
    if (performance.now() > deadline) return false;
    await sleep(50);
  }
  return true;
}

async function groupIsRunning(group: number): Promise<boolean> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => statOf(pid)));
  return stats.some((stat) => stat?.group === String(group));
}

async function startTimeOf(pid: number): Promise<string | undefined> {
  return (await statOf(pid))?.startTime;
}

/** Fields 5 and 22 of /proc/PID/stat, proc_pid_stat(5); undefined for a zombie. */
async function statOf(
  pid: number | string,
): Promise<{ group: string; startTime: string } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field is the command in parentheses and may itself hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, group, startTime] = [fields[0], fields[2], fields[19]];
  if (state === 'Z' || group === undefined || startTime === undefined) return undefined;
  return { group, startTime };
}
