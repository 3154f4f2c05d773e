import { BerthError } from '../errors.ts';

/**
 * The units that started a unit, as systemd keeps them: of a connection's service the socket that
 * accepted it (`TriggeredBy`, org.freedesktop.systemd1(5)).
 *
 * @returns their names with blanks between them; nothing where there is no such unit
 * @throws {BerthError} `systemctl-failed`
 */
export async function triggersOf(unit: string): Promise<string> {
  const { execFile } = await import('node:child_process');
  return await new Promise((resolve, reject) => {
    execFile(
      '/usr/bin/systemctl',
      ['show', '--property=TriggeredBy', '--value', '--', unit],
      { timeout: 3_000, env: {} },
      (cause, stdout) => {
        if (cause === null) {
          resolve(stdout.trim());
          return;
        }
        reject(
          new BerthError(`systemctl show failed for ${unit}`, {
            code: 'systemctl-failed',
            exit: 'unavailable',
            hint: `As root: systemctl show --property=TriggeredBy ${unit}`,
            cause,
          }),
        );
      },
    );
  });
}
