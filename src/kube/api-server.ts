import type { Agent } from 'node:http';

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
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
  /** Connects through a proxy with HTTP/1.1, with its own TLS options; in admin commands only. */
  readonly agent?: Agent;
}
