import { existsSync } from 'node:fs';
import { brokerSocket, brokerSocketUnit } from '../credentials/broker-protocol.ts';
import { BerthError } from '../errors.ts';
import { installedPath } from '../installed-path.ts';

/**
 * Starts `berth-broker@UID.socket`, unless the socket exists.
 *
 * @param timeoutMs for systemctl, in milliseconds
 * @throws {BerthError} `broker-no-systemd`, `broker-not-started`. The caller warns and goes on, because the
 *   credential works until its token expires.
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
    throw new BerthError(
      'credentials cannot be renewed: the broker needs systemd, which does not run here',
      {
        code: 'broker-no-systemd',
        hint: 'Run the hook on a host with systemd, or use a public client at the identity provider. Otherwise kubectl works only until its token expires.',
      },
    );
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
            hint: `Install the units of ${installedPath('share/etc/systemd')}, then run: systemctl status ${unit}`,
            cause,
          }),
        );
      },
    );
  });
}
