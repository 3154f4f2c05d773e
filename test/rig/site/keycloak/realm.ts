import { send, type Response } from '../https.ts';

/** The clients of the realm, see realm.json; `site-admin` belongs to the harness. */
const secrets = {
  ondemand: 'ondemand-secret',
  kubernetes: 'kubernetes-secret',
  'kubernetes-public': undefined,
  'site-admin': 'site-admin-secret',
} as const;

export type ClientId = keyof typeof secrets;

/** Tokens as the token endpoint gives them; `expiresIn` in seconds. */
export interface Tokens {
  readonly accessToken: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
  readonly expiresIn: number;
}

/** A refusal by the token endpoint, RFC 6749 section 5.2. */
class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    super(`Keycloak answered ${status}: ${text}`);
    this.status = status;
    this.text = text;
  }
}

/** The site's realm in Keycloak, as tests use it. */
export class Realm {
  readonly issuer: string;
  readonly #ca: string;
  /** Passwords of the users that were made with a password of their own. */
  readonly #passwords = new Map<string, string>();

  /** @param ca PEM of the CA that Keycloak's certificate comes from */
  constructor(issuer: string, ca: string) {
    this.issuer = issuer;
    this.#ca = ca;
  }

  get tokenEndpoint(): string {
    return `${this.issuer}/protocol/openid-connect/token`;
  }

  /** A client's id and secret; a public client has none. */
  client(id: ClientId): { readonly id: ClientId; readonly secret: string | undefined } {
    return { id, secret: secrets[id] };
  }

  /**
   * Makes a user, or gives an existing one this password.
   *
   * @param password `NAME-password` unless told
   */
  async addUser(name: string, password = `${name}-password`): Promise<void> {
    this.#passwords.set(name, password);
    const user = {
      username: name,
      enabled: true,
      email: `${encodeURIComponent(name)}@users.example`.replace('%40', '.at.'),
      emailVerified: true,
      firstName: name,
      lastName: 'Test',
      credentials: [{ type: 'password', value: password, temporary: false }],
    };
    const made = await this.#admin('POST', '/users', user);
    if (made.status === 201) return;
    if (made.status !== 409) throw new TokenRefused(made.status, made.text);
    const id = await this.#userId(name);
    await this.#change('PUT', `/users/${id}`, user);
  }

  /** Makes a client of this realm, or changes the one with this `clientId`. */
  async putClient(client: {
    readonly clientId: string;
    readonly [setting: string]: unknown;
  }): Promise<void> {
    const made = await this.#admin('POST', '/clients', client);
    if (made.status === 201) return;
    if (made.status !== 409) throw new TokenRefused(made.status, made.text);
    const { text } = await this.#admin('GET', `/clients?clientId=${client.clientId}`);
    const [known] = JSON.parse(text) as readonly { id: string }[];
    await this.#change('PUT', `/clients/${known?.id}`, client);
  }

  /** Logs a user in with the password, as a client with direct access grants. */
  login(
    user: string,
    { client = 'ondemand', scope = 'openid' }: { client?: ClientId; scope?: string } = {},
  ): Promise<Tokens> {
    return this.#token(client, {
      grant_type: 'password',
      username: user,
      password: this.#passwords.get(user) ?? `${user}-password`,
      scope,
    });
  }

  /** Uses a refresh token up: each is good once. */
  refresh(refreshToken: string, client: ClientId = 'ondemand'): Promise<Tokens> {
    return this.#token(client, { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /**
   * RFC 8693 with Keycloak's standard token exchange: the cluster's audience is on an optional client
   * scope, so that a login's own token is not good for the cluster, and has to be asked for.
   */
  exchange(
    subjectToken: string,
    { audience = 'kubernetes', scope = 'kubernetes' } = {},
  ): Promise<Tokens> {
    return this.#token('ondemand', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience,
      scope,
    });
  }

  /** Ends each session of a user, as a logout in the browser does; offline ones stay. */
  async logout(name: string): Promise<void> {
    const { text } = await this.#admin('GET', `/users/${await this.#userId(name)}/sessions`);
    for (const { id } of JSON.parse(text) as readonly { id: string }[])
      await this.#change('DELETE', `/sessions/${id}`);
  }

  /** "Revoke Refresh Token" of the whole realm: on, as the site starts. To be set back. */
  async rotateRefreshTokens(revokeRefreshToken: boolean): Promise<void> {
    await this.#change('PUT', '', { revokeRefreshToken });
  }

  async #change(method: string, path: string, body?: unknown): Promise<void> {
    const { status, text } = await this.#admin(method, path, body);
    if (status !== 204) throw new TokenRefused(status, text);
  }

  async #token(id: ClientId, fields: Readonly<Record<string, string>>): Promise<Tokens> {
    const secret = secrets[id];
    const { status, text } = await send(this.tokenEndpoint, {
      method: 'POST',
      ca: this.#ca,
      body: new URLSearchParams({
        ...fields,
        client_id: id,
        ...(secret === undefined ? {} : { client_secret: secret }),
      }),
    });
    if (status !== 200) throw new TokenRefused(status, text);
    const answer = JSON.parse(text) as TokenAnswer;
    return {
      accessToken: answer.access_token,
      expiresIn: answer.expires_in,
      ...(answer.id_token === undefined ? {} : { idToken: answer.id_token }),
      ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
    };
  }

  async #userId(name: string): Promise<string> {
    const { text } = await this.#admin(
      'GET',
      `/users?exact=true&username=${encodeURIComponent(name)}`,
    );
    const [user] = JSON.parse(text) as readonly { id: string }[];
    if (user === undefined) throw new Error(`Keycloak has no user ${name}`);
    return user.id;
  }

  async #admin(method: string, path: string, body?: unknown): Promise<Response> {
    const { accessToken } = await this.#token('site-admin', { grant_type: 'client_credentials' });
    const { origin, pathname } = new URL(this.issuer);
    return send(`${origin}/admin${pathname}${path}`, {
      method,
      ca: this.#ca,
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

interface TokenAnswer {
  readonly access_token: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
}
