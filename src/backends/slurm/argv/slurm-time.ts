const [minute, hour, day] = [60_000, 3600_000, 86_400_000];

/**
 * A time as Slurm's commands take it, with a colon or days (sbatch(1), --time): `30:00`, `4:00:00`, `1-0`, `1-12:30`,
 * `1-12:30:00`. A number alone would be minutes there, and is nothing here.
 *
 * @returns milliseconds; undefined for anything else
 */
export function slurmTime(text: string): number | undefined {
  const [, days, first = '', second, third] =
    /^(?:(\d{1,4})-)?(\d{1,5})(?::(\d{1,2}))?(?::(\d{1,2}))?$/.exec(text) ?? [];
  if (first === '' || (days === undefined && second === undefined)) return undefined;
  const numbers = [first, second ?? '0', third ?? '0'].map(Number);
  // Without days and with one colon, it is minutes and seconds.
  const isShort = days === undefined && third === undefined;
  const [one = 0, two = 0, three = 0] = isShort ? [0, ...numbers] : numbers;
  return Number(days ?? 0) * day + one * hour + two * minute + three * 1000;
}
