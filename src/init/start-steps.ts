import { startsAtBoot, unitProperties } from '../system/systemd-units.ts';
import type { CommandStep } from './setup.ts';

export interface UnitsToStart {
  readonly sshd: string;
  readonly always: readonly string[];
  /** Started only together with the sshd. If they are stopped although it runs, an admin wants it so. */
  readonly withSshd: readonly string[];
}

/** Units to start, and those that run already and at boot. */
export interface UnitsFound {
  readonly steps: readonly CommandStep[];
  readonly running: readonly string[];
}

/**
 * The command that starts the units that do not run yet, now and at boot.
 *
 * @throws {BerthError} `systemctl-failed`
 */
export async function startSteps({ sshd, always, withSshd }: UnitsToStart): Promise<UnitsFound> {
  const all = [sshd, ...always, ...withSshd];
  const idle = await stopped(all);
  const wanted = idle.includes(sshd) ? idle : idle.filter((unit) => always.includes(unit));
  const running = all.filter((unit) => !idle.includes(unit));
  if (wanted.length === 0) return { steps: [], running };
  const argv = ['systemctl', 'enable', '--now', ...wanted];
  return { steps: [{ argv, undo: [stopUnits(wanted)] }], running };
}

/** The command that stops units, now and at boot. */
export function stopUnits(units: readonly string[]): string[] {
  return ['systemctl', 'disable', '--now', ...units];
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
