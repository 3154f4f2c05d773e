import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withInstalledPaths } from '../../system/program/installed-path.ts';
import { sourceText } from '../../system/program/source-text.ts';
import { hasSystemd, startsAtBoot, unitProperties } from '../../system/systemd-units.ts';
import { type CommandStep, type SetupStep, whole } from './setup.ts';

const ownDirectory = '/etc/systemd/system';
const packageDirectories = ['/usr/lib/systemd/system', '/lib/systemd/system'];

/** Those that renew root's token on a cluster. */
export const tokenUnits: Readonly<Record<string, string>> = {
  'berth-token-rotate.service': sourceText(
    '../../../etc/systemd/berth-token-rotate.service',
    import.meta.url,
  ),
  'berth-token-rotate.timer': sourceText(
    '../../../etc/systemd/berth-token-rotate.timer',
    import.meta.url,
  ),
};

/**
 * Installs the units that systemd does not have. Those of packages are not copied, and one with another text is the
 * admin's.
 *
 * @param units text of each by its name
 */
export function unitSteps(units: Readonly<Record<string, string>>): SetupStep[] {
  if (!hasSystemd()) return [];
  const steps = Object.entries(units)
    .filter(([name]) => !packageDirectories.some((one) => existsSync(join(one, name))))
    .map(([name, text]) => whole(join(ownDirectory, name), withInstalledPaths(text)));
  const missing = steps.filter(({ path }) => !existsSync(path));
  const same = steps.filter(
    ({ path, text }) => existsSync(path) && readFileSync(path, 'utf8') === text,
  );
  const reload = missing.length === 0 ? [] : [{ argv: ['systemctl', 'daemon-reload'] }];
  return [...same, ...missing, ...reload];
}

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
