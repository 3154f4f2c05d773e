import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { brokerSocketUnit } from '../credentials/broker-protocol.ts';
import { installedPath } from '../installed-path.ts';

/**
 * The user at the other end of a connection, as the kernel knows it. systemd asks for SO_PEERCRED
 * (unix(7)) when it accepts a connection, and names the service's instance by it: `NUMBER-PID-UID`
 * (versions 239 and 252), `NUMBER-COOKIE-PID_PIDFDID-UID` (newer ones), the UID last in all of them. Of a
 * client in a PID namespace that systemd does not see it says `NUMBER-unknown`.
 *
 * @param instance the unit's `%i`
 * @param triggersOf the units that started a unit, as systemd keeps them
 * @throws {BerthError} `broker-caller-unknown` where the kernel does not say who it is, `broker-socket-mismatch` where the
 *   connection came in by another socket than the user's own, and what `triggersOf` throws
 */
export async function brokerCaller(
  instance: string,
  triggersOf: (unit: string) => Promise<string>,
): Promise<number> {
  const uid = /^\d+(?:-\d+)?-\d+(?:_\d+)?-(0|[1-9]\d{0,9})$/.exec(instance)?.[1];
  if (uid === undefined)
    throw new BerthError(
      `the UID of the client is unknown: systemd calls this connection '${shown(instance)}'`,
      {
        code: 'broker-caller-unknown',
        exit: 'permission',
        hint: `Copy ${installedPath('share/etc/systemd/berth-broker*')} of this version to /etc/systemd/system and run systemctl daemon-reload. kubectl must not run in a PID namespace of its own.`,
      },
    );
  const socket = await triggersOf(`berth-broker@${instance}.service`);
  if (socket !== brokerSocketUnit(Number(uid)))
    throw new BerthError(
      `UID ${uid} connected to another unit than its own socket: '${shown(socket)}'`,
      {
        code: 'broker-socket-mismatch',
        exit: 'permission',
        hint: 'Each user has a socket of their own: systemctl list-units "berth-broker@*.socket"',
      },
    );
  return Number(uid);
}

function shown(text: string): string {
  return escapeControl(text).slice(0, 120);
}
