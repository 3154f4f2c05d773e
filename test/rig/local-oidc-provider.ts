import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type ClientMetadata } from 'oidc-provider';
import { OidcStore } from './oidc-store.ts';
import { CertificateAuthority, type KeyPair } from './site/certificates.ts';

/** Requests to the provider: `POST /token`. */
export type Seen = string[];

/** A certified OpenID provider on https in this process. */
export class LocalOidcProvider {
  readonly requests: Seen = [];
  /** Answers in place of the provider: for answers that no real one can be made to give. */
  intercept:
    | ((path: string) => { status: number; type?: string; body: string } | 'hang' | undefined)
    | undefined;
  readonly issuer: string;
  readonly directory: string;
  readonly ca: string;
  readonly caFile: string;
  /** A certificate of the client `tlsClient`, which the provider accepts. */
  readonly clientCertificate: KeyPair;
  readonly #server: Server;
  readonly #port: number;
  #provider: Provider;
  #keys: JWK[];
  readonly #clients: readonly ClientMetadata[];
  readonly #store = new OidcStore();

  private constructor(parts: {
    directory: string;
    ca: string;
    caFile: string;
    clientCertificate: KeyPair;
    server: Server;
    keys: JWK[];
    clients: readonly ClientMetadata[];
  }) {
    this.directory = parts.directory;
    this.ca = parts.ca;
    this.caFile = parts.caFile;
    this.clientCertificate = parts.clientCertificate;
    this.#server = parts.server;
    this.#port = (parts.server.address() as AddressInfo).port;
    this.issuer = `https://127.0.0.1:${this.#port}`;
    this.#keys = parts.keys;
    this.#clients = parts.clients;
    this.#provider = this.#makeProvider();
    this.#server.on('request', (request, response) => {
      const path = (request.url ?? '').replace(/\?.*/, '');
      this.requests.push(`${request.method} ${path}`);
      const instead = this.intercept?.(path);
      if (instead === 'hang') return;
      if (instead !== undefined) {
        const { status, type = 'application/json', body } = instead;
        response.writeHead(status, { 'content-type': type });
        // After the request was read: closing a connection with unread data resets it.
        request.resume().on('end', () => response.end(body));
        return;
      }
      void this.#provider.callback()(request, response);
    });
  }

  /** @param clients In addition to the two that every test has. */
  static async start(clients: readonly ClientMetadata[] = []): Promise<LocalOidcProvider> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-provider-'));
    const authority = await CertificateAuthority.create(join(directory, 'ca'));
    const pair = await authority.server('provider');
    const ca = await authority.pem();
    const server = createServer({
      cert: await readFile(pair.cert),
      key: await readFile(pair.key),
      ca,
      requestCert: true,
      rejectUnauthorized: false,
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const keys = [await signingJwk('first')];
    const clientCertificate = await authority.client(tlsClient);
    return new LocalOidcProvider({
      ...{ directory, ca, caFile: authority.cert, clientCertificate, server, keys, clients },
    });
  }

  /** Signs with a new key from now on; the old one is removed. */
  async rotateKey(kid: string): Promise<void> {
    this.#keys = [await signingJwk(kid)];
    const old = this.#provider;
    this.#provider = this.#makeProvider();
    old.removeAllListeners();
  }

  /** @returns A refresh token of a new login through this client. */
  async refreshToken(user: string, client: string): Promise<string> {
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
    return await refresh.save();
  }

  /** @returns What the portal gets when this user logs in through `client`, without a browser. */
  async login(
    user: string,
    client: string,
  ): Promise<{ idToken: string; refreshToken: string; accessToken: string }> {
    const refreshToken = await this.refreshToken(user, client);
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

  /** Sends a request to the token endpoint, without the code under test. */
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
    this.requests.pop();
    return json as Record<string, unknown>;
  }

  #makeProvider(): Provider {
    return makeProvider(this.issuer, this.#keys, this.#clients, this.#store);
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
    await rm(this.directory, { recursive: true, force: true });
  }
}

export const publicClient = 'kubectl';
export const confidentialClient = 'ondemand';
/** The subject of `SiteOidcProvider.clientCertificate`. */
export const tlsClient = 'ondemand-tls';
/** With characters that are special in forms and in HTTP Basic. */
export const clientSecret = 's3cret:with%20+&=/~and-more-than-thirty-two-characters';

async function signingJwk(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

/** The server speaks TLS only. */
function peer({ socket }: IncomingMessage): TLSSocket {
  if (socket instanceof TLSSocket) return socket;
  throw new Error('not a TLS connection');
}

function makeProvider(
  issuer: string,
  keys: JWK[],
  more: readonly ClientMetadata[],
  { adapter }: OidcStore,
): Provider {
  const common = {
    redirect_uris: ['https://portal.example.org/oidc'],
    response_types: ['code'] as never,
    grant_types: ['authorization_code', 'refresh_token'],
  };
  return new Provider(issuer, {
    adapter,
    jwks: { keys },
    clients: [
      { ...common, client_id: publicClient, token_endpoint_auth_method: 'none' },
      {
        ...common,
        client_id: confidentialClient,
        client_secret: clientSecret,
        token_endpoint_auth_method: 'client_secret_basic',
      },
      ...more.map((client) => ({ ...common, ...client })),
    ],
    enabledJWA: { clientAuthSigningAlgValues: ['RS256', 'ES384'] },
    clientAuthMethods: [
      ...(['none', 'client_secret_basic', 'client_secret_post'] as const),
      ...(['private_key_jwt', 'tls_client_auth'] as const),
    ],
    clientBasedCORS: () => false,
    features: {
      devInteractions: { enabled: false },
      mTLS: {
        enabled: true,
        tlsClientAuth: true,
        getCertificate: ({ req }) => peer(req).getPeerX509Certificate(),
        certificateAuthorized: ({ req }) => peer(req).authorized,
        certificateSubjectMatches: ({ req }, _, expected) =>
          peer(req).getPeerX509Certificate()?.subject === expected,
      },
    },
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
