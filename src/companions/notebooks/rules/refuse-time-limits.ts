import type { Profile } from '../../../config/schema/profile/profile.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';

/**
 * Refuses a profile with time limits that hold for SSH sessions only.
 *
 * @param what what it is rendered as
 * @param idle whether that ends after `timeouts.idle`
 * @throws {BerthError} `time-limit-unsupported`
 */
export function refuseTimeLimits(
  { name, timeouts }: Profile,
  what: string,
  idle: 'ends when idle' | 'stays when idle',
): void {
  const { idleMs, softMs, warnMs = [] } = timeouts;
  const keys = [
    ...(idleMs === undefined || idle === 'ends when idle' ? [] : ['timeouts.idle']),
    ...(softMs === undefined ? [] : ['timeouts.soft']),
    ...(warnMs.length === 0 ? [] : ['timeouts.warn']),
  ];
  if (keys.length === 0) return;
  throw new BerthError(
    'time-limit-unsupported',
    `the profile ${name} has ${keys.join(' and ')}, which is not supported for ${what}`,
  );
}
