import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** A command to measure. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Exit statuses that are expected; default: 0. */
  readonly statuses?: readonly number[];
}

export interface Sample {
  /** Wall time in milliseconds. */
  readonly wall: number;
  /** User and system time in milliseconds, including children. */
  readonly cpu: number;
  /** The largest resident set of one process in KiB. */
  readonly rss: number;
}

/** GNU time's format: user and system seconds, and the maximum resident set in KiB. */
const format = '\nmeasured %U %S %M';

/**
 * Runs the command under GNU time.
 *
 * @throws Error if the command ends with another status than expected
 */
export async function measure({ file, args, env, statuses = [0] }: Command): Promise<Sample> {
  const started = performance.now();
  const child = spawn('/usr/bin/time', ['-f', format, file, ...args], {
    env,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [[code]] = (await Promise.all([once(child, 'exit'), once(child.stderr, 'close')])) as [
    [number | null],
    unknown,
  ];
  const wall = performance.now() - started;
  const figures = /measured ([\d.]+) ([\d.]+) (\d+)\s*$/.exec(stderr);
  if (code === null || !statuses.includes(code) || figures === null)
    throw new Error(`${file} exited with ${code}: ${stderr}`);
  const [, user, system, rss] = figures.map(Number);
  return { wall, cpu: ((user ?? 0) + (system ?? 0)) * 1000, rss: rss ?? 0 };
}

export type Commands<Name extends string> = Readonly<
  Partial<Record<Name, (run: number) => Promise<Command>>>
>;

/**
 * Runs several commands in turn, A B C A B C …, so that variations of the machine's speed affect all of them.
 *
 * @param pauseMs pause before each run, so that work left by the previous one is not measured
 * @returns the samples of each command
 */
export async function runInterleaved<Name extends string>(
  runs: number,
  commands: Commands<Name>,
  pauseMs = 0,
): Promise<Partial<Record<Name, Sample[]>>> {
  const samples: Partial<Record<Name, Sample[]>> = {};
  for (let run = 0; run < runs; run += 1)
    for (const name of Object.keys(commands) as Name[]) {
      const command = await commands[name]?.(run);
      await sleep(pauseMs);
      if (command !== undefined) (samples[name] ??= []).push(await measure(command));
    }
  return samples;
}

/** Runs all commands, `width` at a time. @returns the samples in the order in which the commands ended */
export async function measureConcurrently(
  commands: readonly Command[],
  width: number,
): Promise<{ readonly samples: readonly Sample[]; readonly seconds: number }> {
  const queue = [...commands];
  const samples: Sample[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift())
        samples.push(await measure(next));
    }),
  );
  return { samples, seconds: (performance.now() - started) / 1000 };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The median of each figure. */
export function medians(samples: readonly Sample[] = []): Sample {
  return {
    wall: median(samples.map(({ wall }) => wall)),
    cpu: median(samples.map(({ cpu }) => cpu)),
    rss: median(samples.map(({ rss }) => rss)),
  };
}

export const machine = `${availableParallelism()} cores, Node ${process.version}`;
