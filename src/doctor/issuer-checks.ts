import type { ClusterSettings, OidcSettings } from '../config/settings.ts';
import { fetchIssuer, type IssuerDocuments } from '../credentials/oidc/issuer-discovery.ts';
import { refreshTokens } from '../credentials/oidc/refresh.ts';
import { BerthError } from '../errors.ts';
import { httpsRequest } from '../system/https-request.ts';
import { probeServer } from '../system/probe-server.ts';
import { readTrusted } from '../clusters/admin-access.ts';
import {
  type CheckResult,
  failed,
  failedBy,
  type Finding,
  ok,
  runCheck,
  skipped,
  warning,
} from '../finding.ts';
import { clockFinding } from './server-facts.ts';

/**
 * The identity provider of one cluster's credentials: what it publishes, whether it takes the
 * client's secret, and whether its clock and ours agree. No user's token is needed or made.
 */
export async function checkIssuer(
  cluster: string,
  settings: OidcSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const run = (id: string, work: (signal: AbortSignal) => Promise<Finding> | Finding) =>
    runCheck({ id, cluster, run: work }, timeoutMs);
  const skip = (id: string): CheckResult => ({
    id,
    cluster,
    ...skipped('the issuer does not answer'),
  });
  let documents: IssuerDocuments | undefined;
  let ca: string | undefined;
  const audience = run('issuer-audience', () => audienceFinding(settings));
  const issuer = await run('issuer', async (signal) => {
    ca = settings.caFile === undefined ? undefined : readTrusted(settings.caFile);
    const source = { issuer: settings.issuer, ...(ca === undefined ? {} : { ca }) };
    documents = await fetchIssuer(source, { https: httpsRequest, timeoutMs, signal });
    return ok(`${settings.issuer} publishes ${documents.keys.length} signing keys`);
  });
  if (documents === undefined)
    return [
      issuer,
      await audience,
      ...['issuer-client', 'issuer-exchange', 'issuer-clock'].map(skip),
    ];
  const { tokenEndpoint } = documents;
  return [
    issuer,
    await audience,
    ...(await Promise.all([
      run('issuer-client', (signal) =>
        clientFinding(settings, tokenEndpoint, ca, { timeoutMs, signal }),
      ),
      run('issuer-exchange', (signal) => exchangeFinding(settings, ca, { timeoutMs, signal })),
      run('issuer-clock', async (signal) => {
        const facts = await probeServer(settings.issuer, { signal });
        return clockFinding(facts, settings.clockSkewSeconds);
      }),
    ])),
  ];
}

interface Limits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * What can be known without a token: an ID token is for the client that logged in (OpenID Connect
 * Core, section 2); whether the provider adds the cluster's audience shows at the first login only.
 */
function audienceFinding({ audience, clientId, exchange, token }: OidcSettings): Finding {
  if (exchange)
    return ok(
      `the portal's token is to be exchanged for one of audience ${audience}: whether the issuer grants it shows at a login`,
    );
  return token === 'id' && audience === clientId
    ? ok(`the portal's ID token is for ${clientId}, which is the audience that is configured`)
    : skipped(
        `whether the ${token === 'id' ? 'ID' : 'access'} token of ${clientId} is good for ${audience} shows at a login: the provider must add that audience`,
      );
}

/**
 * A refresh token that cannot be: the provider refuses the token where it takes the client, and the
 * client where it does not (RFC 6749 5.2).
 */
async function clientFinding(
  settings: OidcSettings,
  tokenEndpoint: string,
  ca: string | undefined,
  { timeoutMs, signal }: Limits,
): Promise<Finding> {
  const { clientId, clientSecret } = settings;
  try {
    await refreshTokens(
      {
        url: tokenEndpoint,
        clientId,
        ...(clientSecret === undefined ? {} : { clientSecret }),
        ...(ca === undefined ? {} : { ca }),
      },
      'berth-doctor-asks-whether-the-client-is-known',
      { https: httpsRequest, timeoutMs, signal },
    );
  } catch (thrown) {
    if (!(thrown instanceof BerthError)) throw thrown;
    return thrown.code === 'refresh-token-refused'
      ? ok(`the token endpoint takes the client ${clientId}`)
      : failedBy(thrown);
  }
  return failed(
    `${tokenEndpoint} takes a refresh token that it never gave out`,
    'Look at the identity provider: is this its token endpoint?',
  );
}

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

async function exchangeFinding(
  { issuer, exchange, clientSecret }: OidcSettings,
  ca: string | undefined,
  { timeoutMs, signal }: Limits,
): Promise<Finding> {
  if (!exchange) return skipped('tokens are not exchanged');
  const { json } = await httpsRequest({
    method: 'GET',
    url: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    timeoutMs,
    signal,
    ...(ca === undefined ? {} : { ca }),
  });
  const grants = (json as { readonly grant_types_supported?: unknown } | undefined)
    ?.grant_types_supported;
  if (Array.isArray(grants) && !grants.includes(exchangeGrant))
    return failed(
      'the issuer does not offer token exchange (grant_types_supported)',
      'Switch RFC 8693 on at the provider, or set credentials.exchange: false.',
    );
  if (clientSecret === undefined)
    return warning(
      'the client that exchanges has no secret: Keycloak lets only confidential clients exchange',
      'Set CLIENT_SECRET in hook.env, or credentials.client_secret_file in berth.yml.',
    );
  return Array.isArray(grants)
    ? ok('the issuer offers token exchange')
    : skipped('the issuer does not say which grants it offers');
}

/** What a cluster's credentials want of an identity provider, if anything. */
export function oidcOf({ credentials }: ClusterSettings): OidcSettings | undefined {
  if (credentials.mode === 'oidc') return credentials;
  return credentials.mode === 'legacy' ? credentials.oidc : undefined;
}
