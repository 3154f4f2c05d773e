import { countText } from '../../system/text/count-text.ts';

/** The longest time between two looks at the sessions: berth-reap.timer. Milliseconds. */
const betweenLooksMs = 70_000;

/** `timeouts.warn` of profiles that do not set it. Milliseconds. */
const usualWarnMs: readonly number[] = [15 * 60_000, 5 * 60_000, 60_000];

/**
 * Whether the terminals of a session are told now when it ends: one of the moments before its end has come, or would
 * come before the next look. Who was not there at an earlier one is told at once.
 *
 * @param endsAt milliseconds since the epoch
 * @param looked when its terminals were last looked at; undefined: never. Milliseconds since the epoch
 */
export function isWarningDue(
  endsAt: number,
  warnMs: readonly number[] | undefined,
  { looked = -Infinity, now }: { readonly looked?: number | undefined; readonly now: number },
): boolean {
  const moments = (warnMs ?? usualWarnMs).map((before) => endsAt - before - betweenLooksMs);
  return now < endsAt && moments.some((moment) => looked < moment && moment <= now);
}

/** @param place what a session runs in: `container berth-login`, `job 4711` */
export function warningText(place: string, leftMs: number): string {
  const minutes = countText(Math.max(1, Math.round(leftMs / 60_000)), 'minute');
  return `The lifetime of your ${place} is nearly over: it ends in about ${minutes}. Save your work.`;
}

export function hardEndText(place: string): string {
  return `The lifetime of your ${place} is over: it ends now. Log in again for a new one.`;
}

export function idleEndText(place: string, idleMs: number): string {
  const minutes = Math.round(idleMs / 60_000);
  const isHours = minutes > 0 && minutes % 60 === 0;
  const time = isHours ? countText(minutes / 60, 'hour') : countText(minutes, 'minute');
  return `Nothing was typed or shown on your connections to ${place} for ${time}: this session ends now. Log in again to go on.`;
}
