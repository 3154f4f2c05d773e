import { BerthError } from '../errors.ts';
import { runProgram } from './run-program.ts';

/**
 * A property of a unit (org.freedesktop.systemd1(5)), from `systemctl show`.
 *
 * @returns '' if there is no such unit
 * @throws {BerthError} `systemctl-failed`, also if systemd does not run
 */
export async function unitProperty(unit: string, property: string): Promise<string> {
  const words = ['show', `--property=${property}`, '--value', '--', unit];
  const { error, stdout } = await runProgram('/usr/bin/systemctl', words, {
    timeout: 3_000,
    env: {},
  });
  if (error === undefined) return stdout.trim();
  throw new BerthError(`systemctl show failed for ${unit}`, {
    code: 'systemctl-failed',
    hint: `Run as root: systemctl show --property=${property} ${unit}`,
    cause: error,
  });
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
