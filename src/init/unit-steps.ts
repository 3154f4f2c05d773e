import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withInstalledPaths } from '../installed-path.ts';
import { sourceText } from '../source-text.ts';
import { hasSystemd } from '../system/systemd-units.ts';
import { type SetupStep, whole } from './setup.ts';

const ownDirectory = '/etc/systemd/system';
const packageDirectories = ['/usr/lib/systemd/system', '/lib/systemd/system'];

/** Those that renew root's token on a cluster. */
export const tokenUnits: Readonly<Record<string, string>> = {
  'berth-token-rotate.service': sourceText(
    '../../etc/systemd/berth-token-rotate.service',
    import.meta.url,
  ),
  'berth-token-rotate.timer': sourceText(
    '../../etc/systemd/berth-token-rotate.timer',
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
