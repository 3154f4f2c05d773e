import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateAuthority, KeyPair } from '../certificates.ts';
import { send } from '../https.ts';
import { assertRunning, startDetached, type StartedProcess } from '../processes.ts';
import { step } from '../progress.ts';
import { waitFor } from '../../wait-for.ts';
import type { KeycloakInstallation } from './install.ts';

export interface KeycloakOptions {
  readonly installation: KeycloakInstallation;
  /** Directory for the database and the log. */
  readonly directory: string;
  readonly port: number;
  readonly ca: CertificateAuthority;
  readonly serverCertificate: KeyPair;
  readonly onStart: (started: StartedProcess) => Promise<void>;
}

const readyTimeoutMs = 180_000;

/** The issuer URL of the site's realm, if Keycloak listens on this port. */
export function issuerAt(port: number): string {
  return `https://127.0.0.1:${port}/realms/berth`;
}

/** Starts Keycloak on a copy of the prepared database and waits until the realm answers. */
export async function startKeycloak(options: KeycloakOptions): Promise<void> {
  const { installation, directory, port, serverCertificate } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const database = join(directory, 'database');
  await cp(installation.database, database, { recursive: true });
  await step(`Keycloak to answer at ${issuerAt(port)}`, async () => {
    const started = await startDetached({
      name: 'keycloak',
      command: installation.command,
      args: [
        ...['start', '--optimized', '--cache=local'],
        ...['--http-host=127.0.0.1', `--https-port=${port}`],
        `--hostname=${new URL(issuerAt(port)).origin}`,
        `--https-certificate-file=${serverCertificate.cert}`,
        `--https-certificate-key-file=${serverCertificate.key}`,
        `--https-trust-store-file=${options.ca.cert}`,
      ],
      env: { ...installation.env, KC_DB_URL_PATH: database },
      directory,
    });
    await options.onStart(started);
    const ca = await options.ca.pem();
    await waitFor(
      {
        what: issuerAt(port),
        timeoutMs: readyTimeoutMs,
        alive: () => assertRunning(started),
      },
      async () => (await send(issuerAt(port), { ca })).status === 200 || undefined,
    );
  });
}
