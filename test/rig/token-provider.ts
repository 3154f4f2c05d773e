import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';
import { CertificateAuthority } from './site/certificates.ts';

/** What the provider was asked: `POST /token refresh_token`. */
export type Seen = string[];

/** A certified OpenID provider on https in this process, which does what a test wants of it. */
export class TestProvider {
  readonly seen: Seen = [];
  /** Answers before the provider does: for what no real one can be brought to say. */
  intercept:
    | ((path: string) => { status: number; type?: string; body: string } | 'hang' | undefined)
    | undefined;
  readonly issuer: string;
  readonly folder: string;
  readonly ca: string;
  readonly caFile: string;
  readonly #server: Server;
  readonly #port: number;
  #provider: Provider;
  #keys: JWK[];

  private constructor(parts: {
    folder: string;
    ca: string;
    caFile: string;
    server: Server;
    keys: JWK[];
  }) {
    this.folder = parts.folder;
    this.ca = parts.ca;
    this.caFile = parts.caFile;
    this.#server = parts.server;
    this.#port = (parts.server.address() as AddressInfo).port;
    this.issuer = `https://127.0.0.1:${this.#port}`;
    this.#keys = parts.keys;
    this.#provider = makeProvider(this.issuer, parts.keys);
    this.#server.on('request', (request, response) => {
      const path = (request.url ?? '').replace(/\?.*/, '');
      this.seen.push(`${request.method} ${path}`);
      const instead = this.intercept?.(path);
      if (instead === 'hang') return;
      if (instead !== undefined) {
        const { status, type = 'application/json', body } = instead;
        response.writeHead(status, { 'content-type': type });
        // After the request: who closes a connection with something unread in it resets it.
        request.resume().on('end', () => response.end(body));
        return;
      }
      void this.#provider.callback()(request, response);
    });
  }

  static async start(): Promise<TestProvider> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-provider-'));
    const authority = await CertificateAuthority.create(join(folder, 'ca'));
    const pair = await authority.server('provider');
    const server = createServer({ cert: await readFile(pair.cert), key: await readFile(pair.key) });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const keys = [await signingJwk('first')];
    const ca = await authority.pem();
    return new TestProvider({ folder, ca, caFile: authority.cert, server, keys });
  }

  /** Signs with a new key from now on; the old one is gone. */
  async rotateKey(kid: string): Promise<void> {
    this.#keys = [await signingJwk(kid)];
    const old = this.#provider;
    this.#provider = makeProvider(this.issuer, this.#keys);
    old.removeAllListeners();
  }

  /** What the portal gets when this user logs in by `client`, without a browser. */
  async login(
    user: string,
    client: string,
  ): Promise<{ idToken: string; refreshToken: string; accessToken: string }> {
    const provider = this.#provider;
    const found = await provider.Client.find(client);
    if (found === undefined) throw new Error(`no client ${client}`);
    const grant = new provider.Grant({ accountId: user, clientId: client });
    grant.addOIDCScope('openid offline_access');
    const grantId = await grant.save();
    const now = Math.floor(Date.now() / 1000);
    const common = { accountId: user, client: found, grantId, gty: 'authorization_code' };
    const refresh = new provider.RefreshToken({
      ...common,
      scope: 'openid offline_access',
      authTime: now,
      expiresWithSession: false,
      rotations: 0,
    });
    const refreshToken = await refresh.save();
    const answer = await this.token(client, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    });
    return {
      idToken: String(answer.id_token),
      accessToken: String(answer.access_token),
      refreshToken: String(answer.refresh_token),
    };
  }

  /** A request to the token endpoint, as anybody's client would make it. */
  async token(client: string, form: Record<string, string>): Promise<Record<string, unknown>> {
    const { httpsRequest } = await import('../../src/system/https-request.ts');
    const secret = client === confidentialClient ? clientSecret : undefined;
    const { json } = await httpsRequest({
      method: 'POST',
      url: `${this.issuer}/token`,
      ca: this.ca,
      timeoutMs: 5_000,
      form: { ...form, client_id: client, ...(secret !== undefined && { client_secret: secret }) },
    });
    this.seen.pop();
    return json as Record<string, unknown>;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
    await rm(this.folder, { recursive: true, force: true });
  }
}

export const publicClient = 'kubectl';
export const confidentialClient = 'ondemand';
/** Characters that form encoding and Basic have a meaning for. */
export const clientSecret = 's3cret:with%20+&=/~and-more-than-thirty-two-characters';

async function signingJwk(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

function makeProvider(issuer: string, keys: JWK[]): Provider {
  const common = {
    redirect_uris: ['https://portal.example.org/oidc'],
    response_types: ['code'] as never,
    grant_types: ['authorization_code', 'refresh_token'],
  };
  return new Provider(issuer, {
    jwks: { keys },
    clients: [
      { ...common, client_id: publicClient, token_endpoint_auth_method: 'none' },
      {
        ...common,
        client_id: confidentialClient,
        client_secret: clientSecret,
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    clientBasedCORS: () => false,
    features: { devInteractions: { enabled: false } },
    rotateRefreshToken: true,
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'preferred_username'] },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, preferred_username: sub }),
    }),
    ttl: { IdToken: 300, AccessToken: 300, RefreshToken: 86_400, Grant: 86_400 },
  });
}
