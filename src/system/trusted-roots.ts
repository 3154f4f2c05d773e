import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/** Where distributions keep the authorities that the host trusts: Debian; RHEL and Fedora; SUSE; Alpine. */
const systemStores = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

let ofThisHost: string | readonly string[] | undefined;

/**
 * The certificate authorities that a TLS server may be signed by: the configured ones, else those that
 * the host trusts, else those that Node brings along. To be given to every TLS connection: the outputs
 * run with `--use-openssl-ca`, so that a hook that trusts one CA does not read a hundred others first.
 * The environment has no say (NODE_EXTRA_CA_CERTS, SSL_CERT_FILE): a hook sees another one than its admin.
 *
 * @param configured PEM.
 */
export function trustedRoots(configured: string | undefined): string | string[] {
  if (configured !== undefined) return configured;
  ofThisHost ??= hostRoots(systemStores) ?? rootCertificates;
  return typeof ofThisHost === 'string' ? ofThisHost : [...ofThisHost];
}

/** PEM of the first of these files that holds certificates. */
export function hostRoots(files: readonly string[]): string | undefined {
  for (const file of files) {
    try {
      const text = readFileSync(file, 'utf8');
      if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
    } catch {
      // Another distribution's.
    }
  }
  return undefined;
}
