import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateAuthority } from '../certificates.ts';
import { dockerConfig, prepareRegistry } from '../docker-registry.ts';
import type { ProcessStart } from '../processes.ts';
import { registriesDirectory } from './containerd-paths.ts';

const account = { user: 'puller', password: 'pull-password' } as const;

/** The node's registry and the account that pulls need. */
export interface NodeRegistry {
  /** `HOST:PORT`, the first part of image names. */
  readonly address: string;
  readonly user: string;
  readonly password: string;
  /** The content of a config.json for the hook's REGISTRY_DOCKER_CONFIG_JSON. */
  readonly dockerConfig: string;
}

/** The registry listens at the machine's end of the veth pair, where both containerd and the tests reach it. */
export function registryAt(gateway: string): NodeRegistry {
  const address = `${gateway}:5000`;
  return { address, ...account, dockerConfig: dockerConfig(address, account) };
}

/** Writes the registry's files and containerd's configuration for it. @returns how to start the registry */
export async function prepareNodeRegistry(
  directory: string,
  gateway: string,
  ca: CertificateAuthority,
): Promise<ProcessStart> {
  const { address } = registryAt(gateway);
  const trust = join(registriesDirectory(directory), address);
  await mkdir(trust, { recursive: true });
  const url = `"https://${address}"`;
  await writeFile(
    join(trust, 'hosts.toml'),
    `server = ${url}\n[host.${url}]\n  ca = '${ca.cert}'\n`,
  );
  return prepareRegistry({
    ...{ directory: join(directory, 'registry'), address, account },
    certificate: await ca.server('node-registry', [gateway]),
  });
}
