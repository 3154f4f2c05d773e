import { getCACertificates, rootCertificates } from 'node:tls';

/**
 * The certificate authorities that a TLS server may be signed by: the configured ones, else those that
 * Node brings along and NODE_EXTRA_CA_CERTS. To be given to every TLS connection: the outputs run with
 * `--use-openssl-ca`, so that a hook that trusts one CA does not read a hundred others first.
 *
 * @param configured PEM.
 */
export function trustedRoots(configured: string | undefined): string | string[] {
  return configured ?? [...rootCertificates, ...getCACertificates('extra')];
}
