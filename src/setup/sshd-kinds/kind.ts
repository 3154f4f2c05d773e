import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { drainFile, kindsDirectory } from '../../config/schema/default-settings.ts';
import { directoryNames } from '../../system/if-present.ts';
import { hasSystemd, startsAtBoot, unitProperties } from '../../system/systemd-units.ts';

/** The configuration of the host's own sshd, which is read and never written. */
export const hostConfig = '/etc/ssh/sshd_config';

/** Path of a kind's configuration. */
export function kindFile(name: string): string {
  return join(kindsDirectory, `${name}.conf`);
}

/** The names of all kinds that have a configuration, sorted. */
export function kindNames(): string[] {
  return directoryNames(kindsDirectory)
    .filter((name) => name.endsWith('.conf') && !name.startsWith('.'))
    .map((name) => name.slice(0, -'.conf'.length))
    .sort();
}

/** The state of berth-sshd@NAME.service. */
export interface KindUnit {
  readonly name: string;
  /** `absent`: systemd runs and does not know the template unit. `none`: systemd does not run here. */
  readonly unit: 'known' | 'absent' | 'none';
  /** `active`, `inactive`, `failed`, … */
  readonly active: string;
  /** Whether it starts at boot. */
  readonly enabled: boolean;
}

const properties = ['LoadState', 'ActiveState', 'UnitFileState'];

/** @throws {BerthError} `systemctl-failed` */
export async function kindUnit(kind: string): Promise<KindUnit> {
  const name = `berth-sshd@${kind}.service`;
  if (!hasSystemd()) return { name, unit: 'none', active: 'unknown', enabled: false };
  const found = await unitProperties(name, properties);
  return {
    name,
    unit: found.get('LoadState') === 'not-found' ? 'absent' : 'known',
    active: found.get('ActiveState') ?? 'unknown',
    enabled: startsAtBoot(found.get('UnitFileState') ?? ''),
  };
}

/** Whether `berth node drain`, or an admin, has taken this node out of service. */
export function isNodeDrained(): boolean {
  return existsSync(drainFile);
}
