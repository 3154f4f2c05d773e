import type { ConnectionOptions } from 'node:tls';
import { trustedCas } from '../system/trusted-cas.ts';
import type { ApiServer } from './api-server.ts';

/** Host and port for node:net; IPv6 without brackets. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export function addressOfUrl(base: URL): Address {
  return {
    host: base.hostname.replace(/^\[|\]$/g, ''),
    port: Number(base.port === '' ? 443 : base.port),
  };
}

/** TLS options for the server's certificate and the client's, if it has one. */
export function tlsOptions(host: string, server: ApiServer): ConnectionOptions {
  const name = server.tlsServerName ?? host;
  return {
    ...(/^[\d.]+$|:/.test(name) ? {} : { servername: name }),
    ca: trustedCas(server.ca),
    ...(server.clientCertificate ?? {}),
    rejectUnauthorized: server.insecureSkipTlsVerify !== true,
  };
}
