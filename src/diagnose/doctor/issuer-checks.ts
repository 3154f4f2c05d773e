import {
  type CheckId,
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import type { OidcSettings } from '../../config/schema/settings.ts';
import { countText } from '../../system/text/count-text.ts';
import { fetchIssuer, type IssuerMetadata } from '../../credentials/oidc/issuer-discovery.ts';
import { tokenEndpointOf } from '../../credentials/oidc/obtain-token.ts';
import { refreshTokens } from '../../credentials/oidc/token-endpoint.ts';
import { expectBerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { httpsRequest } from '../../system/https-request.ts';
import { probeServer, type ServerFacts } from '../../system/probe-server.ts';
import { readTrusted } from '../../system/trusted-text.ts';

const day = 86_400_000;

/** Whether the certificate of a server expires soon. */
export function certificateFinding(facts: ServerFacts): Finding {
  const { certificateEnds, ourDate } = facts;
  if (certificateEnds === undefined) return skipped('the server sent no certificate');
  const date = new Date(certificateEnds).toISOString().slice(0, 10);
  const days = Math.floor((certificateEnds - ourDate) / day);
  if (days < 0) return failed(`the server's certificate expired on ${date}`, renew);
  return days < 14
    ? warning(`the server's certificate expires on ${date}, in ${countText(days, 'day')}`, renew)
    : ok(`the server's certificate is valid until ${date}`);
}

const renew = 'Renew it on the server (`kubeadm certs check-expiration` for a kubeadm cluster).';

/**
 * The difference between the clocks of a server and of this host.
 *
 * @param tolerated in seconds; with a larger difference tokens are refused
 */
export function clockFinding({ date, ourDate }: ServerFacts, tolerated: number): Finding {
  if (date === undefined) return skipped('the answer of the server has no date');
  // The header has whole seconds, rounded down: on average half a second too early.
  const skew = (ourDate - date - 500) / 1000;
  const text = `${Math.abs(skew).toFixed(0)} s ${skew > 0 ? 'ahead of' : 'behind'} the server's`;
  const next = 'Run chronyd or systemd-timesyncd on both; compare with `chronyc tracking`.';
  if (Math.abs(skew) > tolerated)
    return failed(`this host's clock is ${text}: tokens are refused as expired or too new`, next);
  if (Math.abs(skew) > 5) return warning(`this host's clock is ${text}`, next);
  return ok('the clocks of this host and the server agree');
}

/**
 * The identity provider of one cluster's credentials: what it publishes, whether it accepts the
 * client's secret, and whether its clock agrees with this host's. No token of a user is used or issued.
 */
export async function checkIssuer(
  cluster: string,
  settings: OidcSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const run = (id: CheckId, work: (signal: AbortSignal) => Promise<Finding> | Finding) =>
    runCheck(id, work, timeoutMs, cluster);
  const skip = (id: CheckId): CheckResult => ({
    id,
    cluster,
    ...skipped('the issuer does not answer'),
  });
  let documents: IssuerMetadata | undefined;
  let ca: string | undefined;
  const audience = run('issuer-audience', () => audienceFinding(settings));
  const issuer = await run('issuer', async (signal) => {
    ca = settings.caFile === undefined ? undefined : readTrusted(settings.caFile);
    const source = { issuer: settings.issuer, ca };
    documents = await fetchIssuer(source, { https: httpsRequest, timeoutMs, signal });
    return ok(`${settings.issuer} publishes ${countText(documents.keys.length, 'signing key')}`);
  });
  if (documents === undefined)
    return [
      issuer,
      await audience,
      ...(['issuer-client', 'issuer-exchange', 'issuer-clock'] as const).map(skip),
    ];
  const found = documents;
  return [
    issuer,
    await audience,
    ...(await Promise.all([
      run('issuer-client', (signal) => clientFinding(settings, found, ca, { timeoutMs, signal })),
      run('issuer-exchange', () => exchangeFinding(settings, found)),
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
 * What is known without a token: the audience of an ID token is the client (OpenID Connect Core,
 * section 2). Whether the provider adds the cluster's audience is known only after a login.
 */
function audienceFinding({ audience, clientId, exchange, token }: OidcSettings): Finding {
  if (exchange)
    return ok(
      `the portal's token is exchanged for one with audience ${audience}; only a login shows whether the issuer grants it`,
    );
  return token === 'id' && audience === clientId
    ? ok(`the audience of the portal's ID token is ${clientId}, as configured`)
    : skipped(
        `only a login shows whether the ${token === 'id' ? 'ID' : 'access'} token of ${clientId} has the audience ${audience}: the provider must add it ("Audience mapper with Keycloak" in ${configurationPage})`,
      );
}

/**
 * Sends an invalid refresh token: the provider refuses the token if it accepts the client, and the
 * client otherwise (RFC 6749, section 5.2).
 */
async function clientFinding(
  settings: OidcSettings,
  issuer: IssuerMetadata,
  ca: string | undefined,
  { timeoutMs, signal }: Limits,
): Promise<Finding> {
  const endpoint = tokenEndpointOf({ issuer, settings, ca });
  try {
    await refreshTokens(endpoint, 'berth-doctor-asks-whether-the-client-is-known', {
      https: httpsRequest,
      timeoutMs,
      signal,
    });
  } catch (thrown) {
    expectBerthError(thrown);
    return thrown.code === 'refresh-token-refused'
      ? ok(`the token endpoint accepts the client ${settings.clientId}`)
      : failedWith(thrown);
  }
  return failed(
    `${endpoint.url} accepted an invalid refresh token`,
    'Check at the identity provider that this is its token endpoint.',
  );
}

/** The steps of an audience mapper and of token exchange, each in a section of its own. */
const configurationPage = installedPath('share/docs/configuration.md');

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

function exchangeFinding(
  { exchange, clientAuth }: OidcSettings,
  { grantTypes: grants }: IssuerMetadata,
): Finding {
  if (!exchange) return skipped('tokens are not exchanged');
  if (grants?.includes(exchangeGrant) === false)
    return failed(
      'the issuer does not offer token exchange (grant_types_supported)',
      `Enable token exchange (RFC 8693) at the provider, or set credentials.exchange: false and add an audience mapper. ${configurationPage} has the steps of both.`,
    );
  if (clientAuth === undefined)
    return warning(
      'the client has no secret or key: Keycloak allows token exchange to confidential clients only',
      'Set CLIENT_SECRET in hook.env, or credentials.client_secret_file or credentials.client_auth_method in berth.yml.',
    );
  return grants !== undefined
    ? ok('the issuer offers token exchange')
    : skipped('the issuer does not publish which grants it offers');
}
