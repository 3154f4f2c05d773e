import { BerthError } from '../errors.ts';

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `24h`, `90m`, `3600s` or `1d` in seconds. @throws `usage` */
export function seconds(text: string, option: string): number {
  const [, count, unit] = /^([0-9]{1,9})([smhd])$/.exec(text) ?? [];
  const factor = units[unit ?? ''];
  if (factor !== undefined) return Number(count) * factor;
  throw new BerthError(`--${option} ${text}: a time such as 24h or 90m is wanted`, {
    code: 'usage',
    exit: 'usage',
    hint: 'Write a number and s, m, h or d.',
  });
}

/** Seconds as a person says them: `7 h 59 min`, `12 min`, `30 s`. */
export function spoken(total: number): string {
  const minutes = Math.round(total / 60);
  if (total < 90) return `${Math.round(total)} s`;
  if (minutes < 60) return `${minutes} min`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours >= 48) return `${Math.round(hours / 24)} days`;
  return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
}

/** Seconds since the epoch as RFC 3339, UTC, without fractions. */
export function timestamp(epoch: number): string {
  return new Date(epoch * 1000).toISOString().replace('.000Z', 'Z');
}
