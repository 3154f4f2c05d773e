import type { ConnectionOptions } from 'node:tls';
import { trustedRoots } from '../system/trusted-roots.ts';
import type { ApiServer } from './api-server.ts';

/** For node:net. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export function addressOf(base: URL): Address {
  return {
    host: base.hostname.replace(/^\[|\]$/g, ''),
    port: Number(base.port === '' ? 443 : base.port),
  };
}

/** How the server proves itself, and the client where it has a certificate. */
export function tlsOptions(host: string, server: ApiServer): ConnectionOptions {
  const name = server.tlsServerName ?? host;
  return {
    ...(/^[\d.]+$|:/.test(name) ? {} : { servername: name }),
    ca: trustedRoots(server.ca),
    ...(server.clientCertificate ?? {}),
    rejectUnauthorized: server.insecureSkipTlsVerify !== true,
  };
}
