import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateAuthority } from '../certificates.ts';
import { dockerConfig, registryStart } from '../docker-registry.ts';
import type { Start } from '../processes.ts';
import { registriesFolder } from './containerd-paths.ts';

const account = { user: 'puller', password: 'pull-password' } as const;

/** The node's registry: a pull needs this account. */
export interface NodeRegistry {
  /** `HOST:PORT`, the first part of its images' names. */
  readonly address: string;
  readonly user: string;
  readonly password: string;
  /** The content of a docker config.json, as the hook's REGISTRY_DOCKER_CONFIG_JSON names one. */
  readonly dockerConfig: string;
}

/** It listens at the machine's end of the veth pair, so that containerd reaches it, and tests too. */
export function registryAt(gateway: string): NodeRegistry {
  const address = `${gateway}:5000`;
  return { address, ...account, dockerConfig: dockerConfig(address, account) };
}

/** Writes containerd's trust and the registry's own files, and tells how the registry is started. */
export async function nodeRegistryStart(
  folder: string,
  gateway: string,
  ca: CertificateAuthority,
): Promise<Start> {
  const { address } = registryAt(gateway);
  const trust = join(registriesFolder(folder), address);
  await mkdir(trust, { recursive: true });
  const url = `"https://${address}"`;
  await writeFile(
    join(trust, 'hosts.toml'),
    `server = ${url}\n[host.${url}]\n  ca = '${ca.cert}'\n`,
  );
  return registryStart({
    ...{ folder: join(folder, 'registry'), address, account },
    certificate: await ca.server('node-registry', [gateway]),
  });
}
