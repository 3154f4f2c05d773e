import { existsSync } from 'node:fs';
import { BerthError } from './errors/berth-error.ts';
import { runProgram } from './run-program.ts';

/**
 * A property of a unit (org.freedesktop.systemd1(5)), from `systemctl show`.
 *
 * @returns '' if there is no such unit
 * @throws {BerthError} `systemctl-failed`, also if systemd does not run
 */
export async function unitProperty(unit: string, property: string): Promise<string> {
  return (await unitProperties(unit, [property])).get(property) ?? '';
}

/**
 * Several properties of a unit at once; '' for those that it does not have.
 *
 * @throws {BerthError} `systemctl-failed`, also if systemd does not run
 */
export async function unitProperties(
  unit: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return (await propertiesOfUnits([unit], names))[0] ?? new Map();
}

/**
 * The same for several units. Times of the calendar are in UTC.
 *
 * @param units names, which systemd loads, and patterns, which match loaded units
 * @throws {BerthError} `systemctl-failed`
 */
export async function propertiesOfUnits(
  units: readonly string[],
  names: readonly string[],
): Promise<readonly ReadonlyMap<string, string>[]> {
  // Without --all, patterns match no inactive units, such as a service that a timer starts.
  const words = ['show', '--all', `--property=${names.join(',')}`, '--', ...units];
  const { error, stdout } = await runProgram('/usr/bin/systemctl', words, {
    timeoutMs: 3_000,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  });
  if (error === undefined)
    return stdout.split('\n\n').map(
      (block) =>
        new Map(
          block.split('\n').flatMap((line) => {
            const [, name, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
            return name === undefined || value === undefined ? [] : [[name, value] as const];
          }),
        ),
    );
  throw new BerthError('systemctl-failed', `systemctl show failed for ${units.join(' ')}`, {
    hint: `Run as root: systemctl show --property=${names.join(',')} ${units.join(' ')}`,
    cause: error,
  });
}

/**
 * Whether a unit is enabled for good: `enabled-runtime` is forgotten at a reboot.
 *
 * @param unitFileState systemd's property UnitFileState
 */
export function startsAtBoot(unitFileState: string): boolean {
  return unitFileState === 'enabled';
}

/** Whether systemd is the service manager of this host, as in sd_booted(3). */
export function hasSystemd(): boolean {
  return existsSync('/run/systemd/system');
}

/**
 * The units that trigger a unit: for the service of a connection, the socket that accepted it.
 *
 * @returns their names, separated by spaces; '' if there is no such unit
 * @throws {BerthError} `systemctl-failed`
 */
export async function triggeringUnits(unit: string): Promise<string> {
  return await unitProperty(unit, 'TriggeredBy');
}
