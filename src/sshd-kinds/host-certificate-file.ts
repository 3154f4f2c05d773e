import { existsSync } from 'node:fs';
import { runKeygen } from './run-keygen.ts';
import { parseHostCertificate, type HostCertificate } from './rules/host-certificate.ts';

/** The certificate that ssh-keygen writes for a key: `KEY-cert.pub`, for the private and for the public key. */
export function certificateFileOf(key: string): string {
  return `${key.replace(/\.pub$/, '')}-cert.pub`;
}

/**
 * Reads a certificate of a host key.
 *
 * @returns undefined if there is none, or if it is not for a host
 * @throws {BerthError} `keygen-failed`
 */
export async function readHostCertificate(file: string): Promise<HostCertificate | undefined> {
  if (!existsSync(file)) return undefined;
  return parseHostCertificate(await runKeygen(['-L', '-f', file]));
}

/**
 * The fingerprint of a key, from its public half if that is beside it.
 *
 * @returns `SHA256:…`
 * @throws {BerthError} `keygen-failed`
 */
export async function fingerprintOf(key: string): Promise<string> {
  return /SHA256:\S+/.exec(await runKeygen(['-l', '-f', key]))?.[0] ?? '';
}
