import { startsAtBoot, unitProperties } from '../system/systemd-units.ts';
import type { CommandStep } from './setup.ts';

export interface UnitsToStart {
  readonly sshd: string;
  readonly always: readonly string[];
  /** Started only together with the sshd. If they are stopped although it runs, an admin wants it so. */
  readonly withSshd: readonly string[];
}

/**
 * The command that starts the units that do not run yet, now and at boot.
 *
 * @throws {BerthError} `systemctl-failed`
 */
export async function startSteps({ sshd, always, withSshd }: UnitsToStart): Promise<CommandStep[]> {
  const wanted = await stopped([sshd, ...always]);
  const all = wanted.includes(sshd) ? [...wanted, ...(await stopped(withSshd))] : wanted;
  return all.length === 0
    ? []
    : [
        {
          argv: ['systemctl', 'enable', '--now', ...all],
          undo: ['systemctl', 'disable', '--now', ...all],
        },
      ];
}

async function stopped(units: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const unit of units) {
    const properties = await unitProperties(unit, ['ActiveState', 'UnitFileState']);
    const starts = startsAtBoot(properties.get('UnitFileState') ?? '');
    if (properties.get('ActiveState') !== 'active' || !starts) found.push(unit);
  }
  return found;
}
