import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { KeyPair } from './certificates.ts';
import { send } from './https.ts';
import { ensureCommand } from './debian-packages.ts';
import type { ProcessStart } from './processes.ts';
import { waitFor } from '../wait-for.ts';

export interface RegistryOptions {
  /** Directory for its data, configuration and log. */
  readonly directory: string;
  /** `HOST:PORT` to listen on. */
  readonly address: string;
  readonly certificate: KeyPair;
  /** The only account; it can pull and push. */
  readonly account: { readonly user: string; readonly password: string };
}

/** Writes the configuration of Debian's docker-registry. @returns how to start it */
export async function prepareRegistry(options: RegistryOptions): Promise<ProcessStart> {
  const { address, certificate, account, directory } = options;
  await ensureCommand('docker-registry', 'docker-registry');
  await ensureCommand('htpasswd', 'apache2-utils');
  await ensureCommand('curl', 'curl');
  await mkdir(directory, { recursive: true });
  const htpasswd = join(directory, 'htpasswd');
  const { stdout } = await execa('htpasswd', ['-niB', account.user], { input: account.password });
  await writeFile(htpasswd, `${stdout.trim()}\n`);
  const settings = {
    version: '0.1',
    storage: { filesystem: { rootdirectory: join(directory, 'data') }, delete: { enabled: true } },
    http: { addr: address, tls: { certificate: certificate.cert, key: certificate.key } },
    auth: { htpasswd: { realm: 'test', path: htpasswd } },
  };
  const file = join(directory, 'registry.yml');
  await writeFile(file, JSON.stringify(settings));
  return {
    name: 'docker-registry',
    command: 'docker-registry',
    args: ['serve', file],
    directory,
  };
}

/** Waits until the registry answers. @param ca path of the CA certificate */
export async function waitForRegistry(address: string, ca: string): Promise<void> {
  await waitFor({ what: 'the registry to answer', timeoutMs: 60_000 }, async () => {
    const url = `https://${address}/v2/`;
    await send(url, { ca: await readFile(ca, 'utf8') });
    return true;
  });
}

/** The content of config.json after `docker login` with this account. */
export function dockerConfig(
  address: string,
  { user, password }: RegistryOptions['account'],
): string {
  const auth = Buffer.from(`${user}:${password}`).toString('base64');
  return JSON.stringify({ auths: { [address]: { auth } } });
}
