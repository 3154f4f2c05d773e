import type { Agent } from 'node:http';
import type { ConnectionOptions } from 'node:tls';
import { trustedCas } from '../system/trusted-cas.ts';

/** The address of an API server and the client's credentials, as in a kubeconfig's context. */
export interface ApiServer {
  /** Base URL; may carry a path, as behind Rancher's proxy. */
  readonly url: string;
  /** PEM bundle; the system's certificates if absent. */
  readonly ca?: string;
  /** Name expected in the certificate, if it is not the URL's host. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly token?: string;
  /** ID of the session that makes the requests. */
  readonly session?: string;
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
  /** Connects through a proxy with HTTP/1.1, with its own TLS options; in admin commands only. */
  readonly agent?: Agent;
}

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
    ...(!/^[\d.]+$|:/.test(name) && { servername: name }),
    ca: trustedCas(server.ca),
    ...(server.clientCertificate ?? {}),
    rejectUnauthorized: server.insecureSkipTlsVerify !== true,
  };
}
