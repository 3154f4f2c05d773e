import { hasSystemd, unitProperties } from '../system/systemd-units.ts';

/** The state of berth-sshd@NAME.service. */
export interface KindUnit {
  readonly name: string;
  /** `absent`: systemd runs and does not know the template unit. `none`: systemd does not run here. */
  readonly unit: 'known' | 'absent' | 'none';
  /** `active`, `inactive`, `failed`, … */
  readonly active: string;
  /** Whether it starts at boot. */
  readonly enabled: boolean;
  /** When it was last started or reloaded, in microseconds since the boot (CLOCK_MONOTONIC); 0 if never. */
  readonly changedUs: number;
}

const properties = ['LoadState', 'ActiveState', 'UnitFileState', 'StateChangeTimestampMonotonic'];

/** @throws {BerthError} `systemctl-failed` */
export async function kindUnit(kind: string): Promise<KindUnit> {
  const name = `berth-sshd@${kind}.service`;
  if (!hasSystemd()) return { name, unit: 'none', active: 'unknown', enabled: false, changedUs: 0 };
  const found = await unitProperties(name, properties);
  return {
    name,
    unit: found.get('LoadState') === 'not-found' ? 'absent' : 'known',
    active: found.get('ActiveState') ?? 'unknown',
    enabled: found.get('UnitFileState') === 'enabled',
    changedUs: Number(found.get('StateChangeTimestampMonotonic') ?? 0),
  };
}
