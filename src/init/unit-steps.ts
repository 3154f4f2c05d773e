import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withInstalledPaths } from '../installed-path.ts';
import { hasSystemd } from '../system/systemd-units.ts';
import type { SetupStep } from './setup.ts';

/** Where systemd looks for units: those of packages are not copied. */
const directories = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];

/**
 * Installs the units that systemd does not have.
 *
 * @param units text of each by its name
 */
export function unitSteps(units: Readonly<Record<string, string>>): SetupStep[] {
  if (!hasSystemd()) return [];
  const missing = Object.entries(units).filter(
    ([name]) => !directories.some((directory) => existsSync(join(directory, name))),
  );
  if (missing.length === 0) return [];
  return [
    ...missing.map(([name, text]) => ({
      path: `/etc/systemd/system/${name}`,
      text: withInstalledPaths(text),
      mode: 0o644,
      kind: 'whole' as const,
    })),
    { argv: ['systemctl', 'daemon-reload'] },
  ];
}
