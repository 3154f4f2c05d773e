import { send, type Response } from '../https.ts';

/** The clients of the realm in realm.json and their secrets; the harness itself uses `site-admin`. */
const secrets = {
  ondemand: 'ondemand-secret',
  kubernetes: 'kubernetes-secret',
  'kubernetes-public': undefined,
  'site-admin': 'site-admin-secret',
} as const;

export type ClientId = keyof typeof secrets;

/** Tokens from the token endpoint; `expiresIn` in seconds. */
export interface Tokens {
  readonly accessToken: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
  readonly expiresIn: number;
}

/** An unexpected answer of Keycloak: of the token endpoint (RFC 6749 section 5.2) or the admin API. */
class KeycloakError extends Error {
  override readonly name = 'KeycloakError';
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    super(`Keycloak answered ${status}: ${text}`);
    this.status = status;
    this.text = text;
  }
}

/** The site's Keycloak realm: its users and their tokens. */
export class Realm {
  readonly issuer: string;
  readonly #ca: string;
  /** Passwords of the users that `addUser` created. */
  readonly #passwords = new Map<string, string>();

  /** @param ca PEM of the CA that issued Keycloak's certificate */
  constructor(issuer: string, ca: string) {
    this.issuer = issuer;
    this.#ca = ca;
  }

  get tokenEndpoint(): string {
    return `${this.issuer}/protocol/openid-connect/token`;
  }

  /** A client's ID and secret; a public client has no secret. */
  client(id: ClientId): { readonly id: ClientId; readonly secret: string | undefined } {
    return { id, secret: secrets[id] };
  }

  /**
   * Creates a user, or sets the password of an existing one.
   *
   * @param password default: `NAME-password`
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
    if (made.status !== 409) throw new KeycloakError(made.status, made.text);
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
    if (made.status !== 409) throw new KeycloakError(made.status, made.text);
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

  /** Redeems a refresh token, which can be used once. */
  refresh(refreshToken: string, client: ClientId = 'ondemand'): Promise<Tokens> {
    return this.#token(client, { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /**
   * Exchanges a token (RFC 8693, Keycloak's standard token exchange). The cluster's audience is in an optional
   * client scope, so the token of a login is not valid for the cluster.
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

  /** Ends the sessions of a user, as a logout in the browser does; offline sessions remain. */
  async logout(name: string): Promise<void> {
    const { text } = await this.#admin('GET', `/users/${await this.#userId(name)}/sessions`);
    for (const { id } of JSON.parse(text) as readonly { id: string }[])
      await this.#change('DELETE', `/sessions/${id}`);
  }

  /** Switches the realm's setting "Revoke Refresh Token", which is on by default. The test must restore it. */
  async rotateRefreshTokens(revokeRefreshToken: boolean): Promise<void> {
    await this.#change('PUT', '', { revokeRefreshToken });
  }

  async #change(method: string, path: string, body?: unknown): Promise<void> {
    const { status, text } = await this.#admin(method, path, body);
    if (status !== 204) throw new KeycloakError(status, text);
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
    if (status !== 200) throw new KeycloakError(status, text);
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
