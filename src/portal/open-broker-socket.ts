import { existsSync } from 'node:fs';
import { brokerSocket, brokerSocketUnit } from '../credentials/broker-protocol.ts';
import { BerthError } from '../errors.ts';
import { installedPath } from '../installed-path.ts';

/**
 * Opens the user's way to the broker, where it is not open yet: `berth-broker@UID.socket`.
 *
 * @throws {BerthError} `broker-no-systemd`, `broker-not-started`: worth a warning, not a failed
 *   login, since the credential just written works until its token ends.
 */
export async function openBrokerSocket(
  uid: number,
  {
    timeoutMs = 3_000,
    signal,
  }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  if (existsSync(brokerSocket(uid))) return;
  // sd_booted(3)
  if (!existsSync('/run/systemd/system')) {
    throw new BerthError('there is no broker to renew credentials: systemd does not run here', {
      code: 'broker-no-systemd',
      exit: 'unavailable',
      hint: 'Run the hook on a host with systemd, or make the identity provider’s client a public one. Until then kubectl works until its token ends.',
    });
  }
  const { execFile } = await import('node:child_process');
  const unit = brokerSocketUnit(uid);
  await new Promise<void>((resolve, reject) => {
    execFile(
      '/usr/bin/systemctl',
      ['start', '--no-block', unit],
      { timeout: timeoutMs, env: {}, ...(signal && { signal }) },
      (cause) => {
        if (cause === null) {
          resolve();
          return;
        }
        reject(
          new BerthError(`${unit} could not be started`, {
            code: 'broker-not-started',
            exit: 'unavailable',
            hint: `Install the units of ${installedPath('share/etc/systemd')}, then look at: systemctl status ${unit}`,
            cause,
          }),
        );
      },
    );
  });
}
