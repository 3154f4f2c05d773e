import { BerthError, type ErrorCode, type ExitClass } from '../../errors.ts';
import { escapeControl } from '../../log.ts';
import { badAnswer, type HttpsClient } from '../../system/https-request.ts';
import { logInAnew } from './portal-advice.ts';

/** Where tokens are asked for, and as which client. */
export interface TokenEndpoint {
  readonly url: string;
  readonly clientId: string;
  /** Present for a confidential client. */
  readonly clientSecret?: string;
  readonly ca?: string;
}

export interface TokenEndpointEdges {
  readonly https: HttpsClient;
  /** For the request, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A token response, RFC 6749 5.1 and OpenID Connect Core 3.1.3.3. */
export interface TokenSet {
  readonly accessToken: string;
  readonly idToken?: string;
  /** Present when the provider gave a new one: then the one that was used may be spent. */
  readonly refreshToken?: string;
  /** Lifetime of the access token, in seconds. */
  readonly expiresIn?: number;
}

/**
 * Asks for tokens. A confidential client proves itself with HTTP Basic (`client_secret_basic`), a
 * public one says its name in the form (RFC 6749 2.3.1, 3.2.1).
 *
 * @throws {BerthError} `refresh-token-refused` (`invalid_grant`), `issuer-client-refused`
 *   (`invalid_client`, `unauthorized_client`), `issuer-request-refused` (any other OAuth error),
 *   `issuer-unavailable`, `issuer-answer-invalid`, and what `httpsRequest` throws. Nothing that was sent as a
 *   secret is in a message, even where the provider repeats it.
 */
export async function requestTokens(
  endpoint: TokenEndpoint,
  form: Readonly<Record<string, string>>,
  edges: TokenEndpointEdges,
): Promise<TokenSet> {
  const { clientId, clientSecret } = endpoint;
  const url = new URL(endpoint.url);
  const { status, json } = await edges.https({
    method: 'POST',
    url: endpoint.url,
    timeoutMs: edges.timeoutMs,
    form: clientSecret === undefined ? { ...form, client_id: clientId } : form,
    ...(clientSecret !== undefined && {
      headers: { authorization: basic(clientId, clientSecret) },
    }),
    ...(endpoint.ca !== undefined && { ca: endpoint.ca }),
    ...(edges.signal && { signal: edges.signal }),
  });
  const answer = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  if (status !== 200) {
    throw oauthError(url, status, answer, [...Object.values(form), clientSecret ?? '']);
  }
  const { access_token, id_token, refresh_token, expires_in, token_type } = answer;
  if (typeof access_token !== 'string') throw badAnswer(url, 'no access_token');
  // RFC 8693 2.2.1 has N_A too, for what is no access token.
  if (typeof token_type !== 'string' || !/^(bearer|n_a)$/i.test(token_type)) {
    throw badAnswer(
      url,
      'a token that is not of the type Bearer, which the API server cannot take',
    );
  }
  return {
    accessToken: access_token,
    ...(typeof id_token === 'string' && { idToken: id_token }),
    ...(typeof refresh_token === 'string' && { refreshToken: refresh_token }),
    ...(typeof expires_in === 'number' && { expiresIn: expires_in }),
  };
}

/** RFC 6749 2.3.1: both are form-encoded before they are joined. */
function basic(clientId: string, clientSecret: string): string {
  const encoded = [clientId, clientSecret].map((text) =>
    new URLSearchParams({ '': text }).toString().slice(1),
  );
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`;
}

interface Refusal {
  readonly code: ErrorCode;
  readonly exit: ExitClass;
  readonly hint: string;
}

const clientRefused: Refusal = {
  code: 'issuer-client-refused',
  exit: 'config',
  hint: 'Compare CLIENT_ID and CLIENT_SECRET with the client at the identity provider, and what that client may do (token exchange, refresh tokens).',
};

/** RFC 6749 5.2. */
const refusals: Readonly<Record<string, Refusal>> = {
  invalid_grant: {
    code: 'refresh-token-refused',
    exit: 'permission',
    hint: `The login has ended, or its refresh token was used by another. ${logInAnew}.`,
  },
  invalid_client: clientRefused,
  unauthorized_client: clientRefused,
};

const otherRefusal: Refusal = {
  code: 'issuer-request-refused',
  exit: 'unavailable',
  hint: 'Look at the identity provider’s event log for this client. For a token exchange: is it switched on for the client, is the client in the audience of the portal’s token, may it ask for a refresh token (credentials.own_refresh_token), and does the cluster’s audience need a client scope that must be requested (credentials.exchange_scope)?',
};

function oauthError(
  url: URL,
  status: number,
  answer: Readonly<Record<string, unknown>>,
  sent: readonly string[],
): BerthError {
  const where = `${url.host}${url.pathname}`;
  if (typeof answer.error !== 'string') {
    if (status < 500 && status !== 429) return badAnswer(url, `HTTP ${status}`);
    return new BerthError(`${where} answered with HTTP ${status}`, {
      code: 'issuer-unavailable',
      exit: 'temporary',
      hint: 'Look at the identity provider’s own log; try again later.',
    });
  }
  const described =
    typeof answer.error_description === 'string' ? `: ${answer.error_description}` : '';
  const text = sent
    .filter((value) => value.length >= 8)
    .reduce(
      (redacted, value) => redacted.replaceAll(value, '[redacted]'),
      answer.error + described,
    );
  const refusal = Object.hasOwn(refusals, answer.error) ? refusals[answer.error] : undefined;
  const { code, exit, hint } = refusal ?? otherRefusal;
  return new BerthError(`${where} refused (${status}): ${escapeControl(text).slice(0, 300)}`, {
    code,
    exit,
    hint,
  });
}
