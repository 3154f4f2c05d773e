import { BerthError } from '../errors.ts';
import { runProgram } from './run-program.ts';

/**
 * A property of a unit as systemd keeps it (org.freedesktop.systemd1(5)), by `systemctl show`.
 *
 * @returns nothing where there is no such unit
 * @throws {BerthError} `systemctl-failed`, also where systemd does not run
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
    exit: 'unavailable',
    hint: `As root: systemctl show --property=${property} ${unit}`,
    cause: error,
  });
}

/**
 * The units that started a unit: of a connection's service the socket that accepted it.
 *
 * @returns their names with blanks between them; nothing where there is no such unit
 * @throws {BerthError} `systemctl-failed`
 */
export async function triggersOf(unit: string): Promise<string> {
  return await unitProperty(unit, 'TriggeredBy');
}
