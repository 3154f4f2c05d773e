import { hasSystemd, startsAtBoot, unitProperties } from '../system/systemd-units.ts';

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
