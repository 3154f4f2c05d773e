import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that is measured: what nginx_stage would start. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Sample {
  /** Milliseconds from the start to the end. */
  readonly wall: number;
  /** Milliseconds of user and system time, children included. */
  readonly cpu: number;
  /** The largest resident set of one process, KiB. */
  readonly rss: number;
}

/** GNU time's own words: user and system seconds, and KiB. */
const format = '\nmeasured %U %S %M';

/**
 * Runs the command to its end under GNU time and takes its figures.
 *
 * @throws Error when it fails: a failed login has no speed.
 */
export async function measure({ file, args, env }: Command): Promise<Sample> {
  const started = performance.now();
  const child = spawn('/usr/bin/time', ['-f', format, file, ...args], {
    env,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const [[code]] = (await Promise.all([once(child, 'exit'), once(child.stderr, 'close')])) as [
    [number | null],
    unknown,
  ];
  const wall = performance.now() - started;
  const figures = /measured ([\d.]+) ([\d.]+) (\d+)\s*$/.exec(said);
  if (code !== 0 || figures === null) throw new Error(`${file} ended with ${code}: ${said}`);
  const [, user, system, rss] = figures.map(Number);
  return { wall, cpu: ((user ?? 0) + (system ?? 0)) * 1000, rss: rss ?? 0 };
}

export type Commands<Name extends string> = Readonly<
  Partial<Record<Name, (run: number) => Promise<Command>>>
>;

/**
 * Runs several commands in turn, A B C A B C …, so that a machine's moods fall on all alike.
 *
 * @param pauseMs Before each run: what the former one left to be done must not be the next one's cost.
 * @returns The samples of each; none for a command that was not given.
 */
export async function inTurn<Name extends string>(
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

/** Runs every command, so many at once. @returns The samples in the order of their ends. */
export async function atOnce(
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

/** The medians of samples, figure by figure. */
export function medians(samples: readonly Sample[] = []): Sample {
  return {
    wall: median(samples.map(({ wall }) => wall)),
    cpu: median(samples.map(({ cpu }) => cpu)),
    rss: median(samples.map(({ rss }) => rss)),
  };
}

export const machine = `${availableParallelism()} cores, Node ${process.version}`;
