import { open, readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { say } from './progress.ts';

/** A process that a site started. PIDs are reused; PID and start time together identify a process. */
export interface StartedProcess {
  readonly name: string;
  readonly pid: number;
  /** Start time in clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTime: string;
  readonly log: string;
}

export interface ProcessStart {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory, which also gets the log `NAME.log`. */
  readonly directory: string;
}

/** Starts a process in its own session, with stdout and stderr in its log. It outlives this process. */
export async function startDetached(start: ProcessStart): Promise<StartedProcess> {
  const log = join(start.directory, `${start.name}.log`);
  const output = await open(log, 'a', 0o600);
  try {
    const child = spawn(start.command, start.args, {
      cwd: start.directory,
      detached: true,
      env: { PATH: process.env.PATH, HOME: start.directory, ...start.env },
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

/** Whether this process is running; a zombie is not. */
export async function isRunning({ pid, startTime }: StartedProcess): Promise<boolean> {
  return (await startTimeOf(pid)) === startTime;
}

/** @throws Error with the end of the log if the process is no longer running */
export async function assertRunning(started: StartedProcess): Promise<void> {
  if (await isRunning(started)) return;
  throw new Error(`${started.name} exited; the end of ${started.log}:\n${await logTail(started)}`);
}

/** The last lines of a process's log. */
async function logTail({ log }: StartedProcess, lines = 25): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '(no log)');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

/**
 * Ends the process groups of the processes, in the order given: SIGTERM, then SIGKILL after `graceMs`.
 * Processes that have exited are skipped, also if their PIDs were reused.
 */
export async function stopAll(
  processes: readonly StartedProcess[],
  graceMs = 15_000,
): Promise<void> {
  for (const started of processes) {
    if (!(await isRunning(started))) continue;
    process.kill(-started.pid, 'SIGTERM');
    if (await groupEnds(started.pid, graceMs)) continue;
    say(`${started.name} did not exit within ${graceMs / 1000} s of SIGTERM: sending SIGKILL`);
    process.kill(-started.pid, 'SIGKILL');
    await groupEnds(started.pid, graceMs);
  }
}

/** The PID of a process's first child, for example of unshare(1) with --fork; undefined if it has none. */
export async function childOf(pid: number | undefined): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]) || undefined;
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
  // The second field is the command in parentheses, which can contain blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, group, startTime] = [fields[0], fields[2], fields[19]];
  if (state === 'Z' || group === undefined || startTime === undefined) return undefined;
  return { group, startTime };
}
