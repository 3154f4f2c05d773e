import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { KeyPair } from '../certificates.ts';

/** The credential of a kubeconfig's user: a client certificate or a bearer token. */
export type Credential = { readonly certificate: KeyPair } | { readonly token: string };

export interface KubeconfigContent {
  /** URL of the API server. */
  readonly server: string;
  /** Path of the CA certificate; its content is embedded. */
  readonly ca: string;
  readonly credential: Credential;
  /** Host name in the server's certificate, if it differs from the URL's host. */
  readonly tlsServerName?: string;
}

/** Writes a kubeconfig with one cluster, user and context, all named `berth`, mode 0600. */
export async function writeKubeconfig(file: string, content: KubeconfigContent): Promise<void> {
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'berth',
        cluster: {
          server: content.server,
          'certificate-authority-data': await base64(content.ca),
          ...(content.tlsServerName === undefined
            ? {}
            : { 'tls-server-name': content.tlsServerName }),
        },
      },
    ],
    users: [{ name: 'berth', user: await userOf(content.credential) }],
    contexts: [{ name: 'berth', context: { cluster: 'berth', user: 'berth' } }],
    'current-context': 'berth',
  };
  await writeFile(file, stringify(kubeconfig, { lineWidth: 0 }), { mode: 0o600 });
}

async function userOf(credential: Credential): Promise<Record<string, string>> {
  if ('token' in credential) return { token: credential.token };
  return {
    'client-certificate-data': await base64(credential.certificate.cert),
    'client-key-data': await base64(credential.certificate.key),
  };
}

async function base64(file: string): Promise<string> {
  return (await readFile(file)).toString('base64');
}
