import type { Agent } from 'node:http';

/** Where an API server is and how to prove who asks, as a kubeconfig's context says it. */
export interface ApiServer {
  /** Base URL; may carry a path, as behind Rancher's proxy. */
  readonly url: string;
  /** PEM bundle; the system's where absent. */
  readonly ca?: string;
  /** Name expected in the certificate where it is not the URL's host. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly token?: string;
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
  /** Makes connections through a proxy, in admin commands: HTTP/1.1. Holds the options of TLS itself. */
  readonly agent?: Agent;
}

/** The same server for somebody else. */
export function withToken(
  { url, ca, tlsServerName, insecureSkipTlsVerify }: ApiServer,
  token: string,
): ApiServer {
  return {
    ...{ url, token },
    ...(ca === undefined ? {} : { ca }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(insecureSkipTlsVerify === undefined ? {} : { insecureSkipTlsVerify }),
  };
}
