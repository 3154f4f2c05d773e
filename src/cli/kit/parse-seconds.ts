import { BerthError } from '../../system/errors/berth-error.ts';

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * `24h`, `90m`, `3600s` or `1d` in seconds.
 *
 * @param bounds lowest and highest value allowed; a timeout is at most a day: timers of Node end at 24
 * @throws `usage`
 */
export function parseSeconds(
  text: string,
  option: string,
  { least, most }: { readonly least: string; readonly most: string } = { least: '1s', most: '1d' },
): number {
  const time = secondsOf(text);
  if (time === undefined)
    throw unsuited(
      option,
      text,
      'a time such as 24h or 90m',
      'Write a number followed by s, m, h or d.',
    );
  if (time >= (secondsOf(least) ?? 0) && time <= (secondsOf(most) ?? Infinity)) return time;
  throw unsuited(
    option,
    text,
    `a time from ${least} to ${most}`,
    `Give --${option} a value in that range.`,
  );
}

function secondsOf(text: string): number | undefined {
  const [, count, unit] = /^([0-9]{1,9})([smhd])$/.exec(text) ?? [];
  const factor = units[unit ?? ''];
  return factor === undefined ? undefined : Number(count) * factor;
}

function unsuited(option: string, text: string, wanted: string, hint: string): BerthError {
  const message = `--${option} ${text}: must be ${wanted}`;
  return new BerthError('usage', message, { hint });
}
