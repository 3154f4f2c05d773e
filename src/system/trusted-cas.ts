import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

/** The host's trusted CA certificates: Debian; RHEL and Fedora; SUSE; Alpine. */
const systemStores = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

let ofThisHost: string | readonly string[] | undefined;

/**
 * The certificate authorities for a TLS connection: the configured ones, otherwise those of the host, otherwise Node's. Pass
 * them to each TLS connection: the outputs run with `--use-openssl-ca`, so that a hook with a configured CA does not load a
 * hundred others. The environment (NODE_EXTRA_CA_CERTS, SSL_CERT_FILE) is ignored, because a hook's differs from the
 * admin's.
 *
 * @param configured in PEM format
 */
export function trustedCas(configured: string | undefined): string | string[] {
  if (configured !== undefined) return configured;
  ofThisHost ??= hostCas(systemStores) ?? rootCertificates;
  return typeof ofThisHost === 'string' ? ofThisHost : [...ofThisHost];
}

/** The first of these files that contains certificates, in PEM format. */
export function hostCas(files: readonly string[]): string | undefined {
  for (const file of files) {
    try {
      const text = readFileSync(file, 'utf8');
      if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
    } catch {
      // Does not exist on this distribution.
    }
  }
  return undefined;
}
