import * as z from 'zod/mini';
import { matching } from './schema-parts.ts';

/** `500ms`, `10s`, `5m` or `8h`, as milliseconds. */
export const duration = z.pipe(
  matching(/^[0-9]{1,6}(?:ms|s|m|h)$/, 'must be a time such as 500ms, 10s or 5m'),
  z.transform(milliseconds),
);

/** The same between two bounds, which are included. */
export function durationBetween(least: string, most: string): typeof duration {
  const [low, high] = [milliseconds(least), milliseconds(most)];
  return duration.check(
    z.refine((time) => time >= low && time <= high, `must be a time from ${least} to ${most}`),
  );
}

function milliseconds(text: string): number {
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const [, count, unit] = /^([0-9]+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (units[unit ?? ''] ?? 1);
}
