import { seededRandom } from '../rig/seeded-random.ts';
import { median, type Sample } from './measure.ts';

/** A value of a benchmark. */
export interface Measured {
  readonly value: number;
  /**
   * How far from the value another run of the same programs on the same machine may be, in the value's unit. Undefined if it was
   * measured once, so that this is unknown.
   */
  readonly noise?: number;
}

const resamples = 1_000;
/** The share of resamples that are left out on each side. */
const outside = 0.005;

/** The ratio of the median wall times of commands that ran in turn. */
export function wallRatio(
  one: readonly Sample[] | undefined,
  other: readonly Sample[] | undefined,
): Measured {
  return measuredWalls([one, other], ([a = 0, b = 1]) => a / b);
}

/** The same of processor times. */
export function cpuRatio(
  one: readonly Sample[] | undefined,
  other: readonly Sample[] | undefined,
): Measured {
  return measured([cpus(one), cpus(other)], ([a = 0, b = 1]) => a / b);
}

/**
 * A value that is computed from medians, with its noise: half of the interval that has 99 of 100 values when the runs are drawn again
 * from those that were measured (bootstrap; rounds as a whole, because the runs of a round share the machine's speed).
 *
 * @param series the values of each command, in milliseconds for example, by round
 */
export function measured(
  series: readonly (readonly number[])[],
  valueOf: (medians: readonly number[]) => number,
): Measured {
  const rounds = Math.min(...series.map(({ length }) => length));
  const random = seededRandom(rounds);
  const drawn = Array.from({ length: resamples }, () => {
    const chosen = Array.from({ length: rounds }, () => Math.floor(random() * rounds));
    return valueOf(series.map((values) => median(chosen.map((round) => values[round] ?? 0))));
  }).sort((a, b) => a - b);
  const at = (share: number): number => drawn[Math.floor(share * (resamples - 1))] ?? Number.NaN;
  return { value: valueOf(series.map(median)), noise: (at(1 - outside) - at(outside)) / 2 };
}

/** As `measured`, of the wall times of commands that ran in turn. */
export function measuredWalls(
  commands: readonly (readonly Sample[] | undefined)[],
  valueOf: (medians: readonly number[]) => number,
): Measured {
  return measured(
    commands.map((samples = []) => samples.map(({ wall }) => wall)),
    valueOf,
  );
}

const cpus = (samples: readonly Sample[] = []): number[] => samples.map(({ cpu }) => cpu);
