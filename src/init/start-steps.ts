import { startsAtBoot, unitProperties } from '../system/systemd-units.ts';
import type { CommandStep } from './setup.ts';

/**
 * The command that starts the units that do not run yet, now and at boot.
 *
 * @param units the first is the sshd
 * @param atFirst units that are started with the sshd only: later, an admin has decided not to have them
 * @throws {BerthError} `systemctl-failed`
 */
export async function startSteps(
  units: readonly string[],
  atFirst: readonly string[],
): Promise<CommandStep[]> {
  const [sshd] = units;
  const wanted = await stopped(units);
  const more = sshd !== undefined && wanted.includes(sshd) ? await stopped(atFirst) : [];
  const all = [...wanted, ...more];
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
