import { measure, medians, type Sample } from '../measure.ts';
import type { Figure, RecordFigure } from './figures.ts';

interface CommandToMeasure {
  /** The command's name, for example `berth subid plan`. */
  readonly what: string;
  readonly size: NonNullable<Figure['size']>;
  readonly argv: readonly string[];
  /** Runs before each of the runs, and is not measured. */
  readonly before?: () => Promise<void>;
}

const runs = 3;

/** What the issue wants of each of the admin's commands on a large site. */
const mostSeconds = 10;
const mostMiB = 300;

/** Measures a command of an admin, and records its time and memory: medians of three runs. Exit status 1 is a result, as with diff(1). */
export async function recordCommand(
  record: RecordFigure,
  { what, size, argv, before }: CommandToMeasure,
): Promise<void> {
  const samples: Sample[] = [];
  for (let run = 0; run < runs; run += 1) {
    await before?.();
    samples.push(
      await measure({
        file: '/bin/sh',
        args: ['-c', '"$@"; test $? -le 1', 'sh', ...argv],
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', HOME: '/root' },
      }),
    );
  }
  const { wall, rss } = medians(samples);
  record({ what, size, value: wall / 1000, unit: 's', wanted: { atMost: mostSeconds } });
  const memory = { value: rss / 1024, unit: 'MiB', wanted: { atMost: mostMiB } };
  record({ what: `memory of ${what}`, size, ...memory });
}
