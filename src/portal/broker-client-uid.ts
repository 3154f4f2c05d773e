import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { brokerSocketUnit } from '../credentials/broker-protocol.ts';
import { installedPath } from '../installed-path.ts';

/**
 * The UID at the other end of a connection, from the kernel. systemd reads SO_PEERCRED (unix(7)) when it
 * accepts a connection, and puts the result into the instance's name: `NUMBER-PID-UID` (versions 239 and
 * 252) or `NUMBER-COOKIE-PID_PIDFDID-UID` (newer ones). The UID is always last. For a client in a PID
 * namespace that systemd cannot see, the name is `NUMBER-unknown`.
 *
 * @param instance the unit's `%i`
 * @param triggersOf the units that started a unit, from systemd
 * @throws {BerthError} `broker-caller-unknown` if the kernel does not give a UID, `broker-socket-mismatch` if the connection
 *   came through another socket than the user's own, and what `triggersOf` throws
 */
export async function brokerClientUid(
  instance: string,
  triggersOf: (unit: string) => Promise<string>,
): Promise<number> {
  const uid = /^\d+(?:-\d+)?-\d+(?:_\d+)?-(0|[1-9]\d{0,9})$/.exec(instance)?.[1];
  if (uid === undefined)
    throw new BerthError(
      `the UID of the client is unknown: systemd named this connection '${shown(instance)}'`,
      {
        code: 'broker-caller-unknown',
        hint: `Copy this version's ${installedPath('share/etc/systemd/berth-broker*')} to /etc/systemd/system and run \`systemctl daemon-reload\`. kubectl must not run in its own PID namespace.`,
      },
    );
  const socket = await triggersOf(`berth-broker@${instance}.service`);
  if (socket !== brokerSocketUnit(Number(uid)))
    throw new BerthError(
      `UID ${uid} did not connect through its own socket but through '${shown(socket)}'`,
      {
        code: 'broker-socket-mismatch',
        hint: 'Each user must use their own socket: systemctl list-units "berth-broker@*.socket"',
      },
    );
  return Number(uid);
}

function shown(text: string): string {
  return escapeControl(text).slice(0, 120);
}
