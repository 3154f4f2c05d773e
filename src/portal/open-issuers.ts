import { oidcSettingsOf } from '../config/oidc-settings-of.ts';
import type { ClusterSettings, OidcSettings } from '../config/settings.ts';
import { openIssuer, type Issuer } from '../credentials/oidc/issuer.ts';
import type { ProviderAccess } from '../credentials/renewable-token.ts';
import { asBerthError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { asInvoker } from '../system/as-user.ts';
import type { Deadline } from '../system/deadline.ts';
import { httpsRequest } from '../system/https-request.ts';
import { withIssuerBackoff } from './issuer-backoff.ts';

/** Milliseconds for one request to an issuer. */
const timeoutMs = 5_000;

/**
 * The identity providers of the clusters, each opened once, however many clusters trust it. Their CA
 * files are read, and the issuers opened, before anything is done as the user.
 *
 * @param edges `read` reads a trusted file as root; `now` is in seconds since the epoch
 * @returns how to reach them, and `renewed`, which waits for outdated keys to be fetched again and logs
 *   what went wrong
 */
export async function openIssuers(
  clusters: readonly ClusterSettings[],
  stateDir: string,
  edges: {
    readonly read: (file: string) => string;
    readonly now: () => number;
    readonly deadline: Deadline;
    readonly log: Logger;
  },
): Promise<ProviderAccess & { readonly renewed: () => Promise<void> }> {
  const { now, deadline } = edges;
  const https = withIssuerBackoff(httpsRequest, {
    ...{ stateDir, now },
    issuers: clusters.flatMap((cluster) => oidcSettingsOf(cluster)?.issuer ?? []),
  });
  const provider = { https, now, timeoutMs, signal: deadline.signal };
  const readCa = await certificates(clusters, edges.read);
  const opened = new Map<string, Promise<Issuer>>();
  const open = ({ issuer, caFile }: OidcSettings): Promise<Issuer> => {
    const ca = caFile === undefined ? {} : { ca: readCa(caFile) };
    return openIssuer({ issuer, stateDir, ...ca }, provider);
  };
  const issuer = async (settings: OidcSettings): Promise<Issuer> => {
    const one = opened.get(settings.issuer) ?? open(settings);
    opened.set(settings.issuer, one);
    return one;
  };
  for (const { credentials } of clusters)
    // The cluster that needs the issuer reports its error.
    if (credentials.mode === 'oidc') issuer(credentials).catch(() => undefined);
  return {
    ...provider,
    issuer,
    readCa,
    renewed: async () => {
      for (const one of await Promise.allSettled(opened.values())) {
        const error = one.status === 'fulfilled' ? await one.value.renewed : undefined;
        if (error !== undefined) edges.log.warning(error.message, { code: error.code });
      }
    },
  };
}

/** The text of each CA file; asking for one that cannot be read throws that cluster's error. */
async function certificates(
  clusters: readonly ClusterSettings[],
  read: (file: string) => string,
): Promise<(file: string) => string> {
  const files = clusters.flatMap((cluster) => oidcSettingsOf(cluster)?.caFile ?? []);
  const texts = await asInvoker(() => new Map(files.map((file) => [file, attempt(read, file)])));
  return (file) => {
    const text = texts.get(file);
    if (typeof text === 'string') return text;
    throw asBerthError(text, `reading ${file}`);
  };
}

/** The text, or what was thrown. */
function attempt(read: (file: string) => string, file: string): unknown {
  try {
    return read(file);
  } catch (thrown) {
    return thrown;
  }
}
