import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process to measure, as nginx_stage would start it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Sample {
  /** From start to end. Milliseconds. */
  readonly wall: number;
  /** User and system time, including children. Milliseconds. */
  readonly cpu: number;
  /** The largest resident set of any one process. KiB. */
  readonly rss: number;
}

/** Output of GNU time: user and system seconds, and KiB. */
const format = '\nmeasured %U %S %M';

/**
 * Runs the command under GNU time and returns its figures.
 *
 * @throws {Error} if it fails
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
 * Runs several commands interleaved, A B C A B C …, so that changes of the machine's load affect all of them.
 *
 * @param pauseMs Before each run, so that work left over from the previous run is not measured.
 * @returns The samples of each command.
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

/** Runs the commands, with a limit on how many at once. @returns The samples in the order in which they ended. */
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

/** The median of each figure. */
export function medians(samples: readonly Sample[] = []): Sample {
  return {
    wall: median(samples.map(({ wall }) => wall)),
    cpu: median(samples.map(({ cpu }) => cpu)),
    rss: median(samples.map(({ rss }) => rss)),
  };
}

export const machine = `${availableParallelism()} cores, Node ${process.version}`;
