import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK, generateKeyPair, importJWK, SignJWT, type JWK, type JWTPayload } from 'jose';
import Provider, { type AdapterFactory, type Client } from 'oidc-provider';
import { send } from './https.ts';
import type { Tokens } from './keycloak/realm.ts';
import { providerStore } from './oidc-provider-store.ts';
import type { Site } from './site.ts';

/** The provider's clients; the public one is also the audience that the cluster accepts. */
const providerClients = {
  confidential: { id: 'ondemand', secret: 'ondemand-secret-of-the-provider' },
  public: { id: 'kubernetes', secret: undefined },
} as const;

type ClientKind = keyof typeof providerClients;

/** Faults of the provider, which a test can change while it runs. */
export interface ProviderFaults {
  /**
   * Claims that replace those of every new token, for example `{ aud: 'somebody-else' }` or those of
   * `expiredClaims` and `notYetValidClaims`. The signature is valid.
   */
  claims: JWTPayload;
  /** Milliseconds by which every answer is delayed. */
  delayMs: number;
  /** Status of every answer, for example 500 or 429; undefined for the real answer. */
  status: number | undefined;
}

const seconds = (): number => Math.floor(Date.now() / 1000);

/** Claims of a token that expired five minutes ago. */
export const expiredClaims = (): JWTPayload => ({ iat: seconds() - 600, exp: seconds() - 300 });

/** Claims of a token that becomes valid in five minutes. */
export const notYetValidClaims = (): JWTPayload => ({ nbf: seconds() + 300, exp: seconds() + 600 });

/**
 * oidc-provider in the test process, with a certificate of the site's CA, for faults that Keycloak cannot be
 * made to show. A refresh token can be used once; using it again revokes the login that it came from.
 */
export class SiteOidcProvider {
  readonly issuer: string;
  readonly faults: ProviderFaults = { claims: {}, delayMs: 0, status: undefined };
  /** Requests at the token endpoint, also those that were refused. */
  tokenRequests = 0;
  readonly #server: Server;
  readonly #ca: string;
  readonly #store = providerStore();
  #keys: readonly JWK[];
  #provider: Provider;

  private constructor(issuer: string, server: Server, ca: string, keys: readonly JWK[]) {
    this.issuer = issuer;
    this.#server = server;
    this.#ca = ca;
    this.#keys = keys;
    this.#provider = this.#make();
    server.on('request', (request, response) => void this.#answer(request, response));
  }

  /**
   * @param options.port `site`: the port of the issuer that the site's API server accepts, which only one
   *   process can use at a time; `free`: any free port, for tests without a cluster
   */
  static async start(
    site: Site,
    { port = 'site' }: { port?: 'site' | 'free' } = {},
  ): Promise<SiteOidcProvider> {
    const { cert, key } = site.record.serverCertificate;
    const server = createServer({ cert: await readFile(cert), key: await readFile(key) });
    server.listen(port === 'site' ? site.record.provider.port : 0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new SiteOidcProvider(issuer, server, site.ca.pem, [await newKey()]);
  }

  get tokenEndpoint(): string {
    return `${this.issuer}/token`;
  }

  /** Replaces the signing key. The JWKS contains the old key only with `keepOld`. */
  async rotateKeys({ keepOld = false }: { keepOld?: boolean } = {}): Promise<void> {
    this.#keys = [await newKey(), ...(keepOld ? this.#keys : [])];
    this.#provider = this.#make();
  }

  /** Logs a user in without a browser: creates a refresh token and redeems it once. */
  async login(user: string, client: ClientKind = 'public'): Promise<Tokens> {
    const clientId = providerClients[client].id;
    const grant = new this.#provider.Grant({ accountId: user, clientId });
    grant.addOIDCScope('openid offline_access');
    const token = new this.#provider.RefreshToken({
      accountId: user,
      client: await this.#clientOf(clientId),
      grantId: await grant.save(),
      gty: 'authorization_code',
      scope: 'openid offline_access',
      authTime: seconds(),
    });
    return this.refresh(await token.save(), client);
  }

  /** Redeems a refresh token at the token endpoint. */
  async refresh(refreshToken: string, client: ClientKind = 'public'): Promise<Tokens> {
    const { id, secret } = providerClients[client];
    const { status, text } = await send(this.tokenEndpoint, {
      method: 'POST',
      ca: this.#ca,
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: id,
        ...(secret === undefined ? {} : { client_secret: secret }),
      }),
    });
    if (status !== 200) throw new Error(`the provider answered ${status}: ${text}`);
    const answer = JSON.parse(text) as Record<string, string>;
    return {
      accessToken: answer.access_token ?? '',
      idToken: answer.id_token ?? '',
      refreshToken: answer.refresh_token ?? '',
      expiresIn: Number(answer.expires_in),
    };
  }

  /** Signs an ID token with these claims, `iss`, `iat`, and an `exp` in five minutes unless given. */
  async sign(claims: JWTPayload): Promise<string> {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('the provider has no signing key');
    return new SignJWT({ iss: this.issuer, iat: seconds(), exp: seconds() + 300, ...claims })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: key.kid ?? '' })
      .sign(await importJWK(key, 'RS256'));
  }

  /** Closes the port and all open connections. */
  async stopListening(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Opens the port again after `stopListening`; issuer, keys and logins are the same. */
  async listenAgain(): Promise<void> {
    this.#server.listen(Number(new URL(this.issuer).port), '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/token') this.tokenRequests += 1;
    if (this.faults.delayMs > 0) await sleep(this.faults.delayMs);
    if (this.faults.status === undefined) {
      await this.#provider.callback()(request, response);
    } else {
      response.writeHead(this.faults.status, { 'content-type': 'text/plain' });
      response.end('a fault set by the test\n');
    }
  }

  async #clientOf(id: string): Promise<Client> {
    const client = await this.#provider.Client.find(id);
    if (client === undefined) throw new Error(`the provider has no client ${id}`);
    return client;
  }

  /** New keys need a new provider; the store keeps the logins. */
  #make(): Provider {
    const provider = new Provider(this.issuer, configuration(this.#keys, this.#store));
    provider.use(async (ctx, next) => {
      await next();
      const body = ctx.body as { id_token?: string } | undefined;
      if (ctx.path !== '/token' || body?.id_token === undefined) return;
      if (Object.keys(this.faults.claims).length === 0) return;
      const payload = body.id_token.split('.')[1] ?? '';
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload;
      body.id_token = await this.sign({ ...claims, ...this.faults.claims });
    });
    return provider;
  }
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: 'RS256', use: 'sig' };
}

function configuration(
  keys: readonly JWK[],
  adapter: AdapterFactory,
): ConstructorParameters<typeof Provider>[1] {
  const flow = {
    redirect_uris: ['https://127.0.0.1/oidc'],
    grant_types: ['authorization_code', 'refresh_token'],
  };
  const { confidential, public: open } = providerClients;
  return {
    adapter,
    jwks: { keys },
    clients: [
      {
        ...flow,
        client_id: confidential.id,
        client_secret: confidential.secret,
        token_endpoint_auth_method: 'client_secret_post',
      },
      { ...flow, client_id: open.id, token_endpoint_auth_method: 'none' },
    ],
    features: { devInteractions: { enabled: false } },
    rotateRefreshToken: true,
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'preferred_username'] },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: () => ({ sub, preferred_username: sub }),
    }),
    ttl: { IdToken: 300, AccessToken: 300, RefreshToken: 86_400, Grant: 86_400 },
  };
}
