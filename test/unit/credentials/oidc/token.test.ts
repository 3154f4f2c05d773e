import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type GenerateKeyPairResult,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type SigningKey,
  type TokenExpectation,
  verifyToken,
} from '../../../../src/credentials/oidc/verify-token.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';

const now = 1_800_000_000;
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
];
const claims: JWTPayload = {
  iss: 'https://idp.example.org/realms/hpc',
  aud: 'kubernetes',
  azp: 'kubernetes',
  preferred_username: 'ann',
  iat: now - 10,
  exp: now + 300,
};

type Pair = GenerateKeyPairResult & { readonly jwk: SigningKey };
const pairs = new Map<string, Pair>();
const pair = (alg: string): Pair => pairs.get(alg) ?? expect.unreachable(`no key for ${alg}`);
let keys: SigningKey[];
const small = generateKeyPairSync('rsa', { modulusLength: 1024 });

beforeAll(async () => {
  for (const alg of algorithms) {
    const made = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(made.publicKey)), kid: alg, alg, use: 'sig' } as SigningKey;
    pairs.set(alg, { ...made, jwk });
  }
  keys = [...pairs.values()].map(({ jwk }) => jwk);
});

interface Made {
  alg?: string;
  kid?: string | undefined;
  header?: object;
  change?: Record<string, unknown>;
}

async function token({ alg = 'RS256', kid = alg, header, change }: Made = {}): Promise<string> {
  return await new SignJWT({ ...claims, ...change })
    .setProtectedHeader({ alg, kid, typ: 'JWT', ...header })
    .sign(pair(alg).privateKey);
}

const expected = (change: Partial<TokenExpectation> = {}): TokenExpectation => ({
  keys,
  issuer: 'https://idp.example.org/realms/hpc',
  audience: 'kubernetes',
  authorizedParty: 'kubernetes',
  kind: 'id',
  usernameClaim: 'preferred_username',
  username: 'ann',
  clockSkewSeconds: 30,
  now,
  ...change,
});

/** @returns The error code, after a check that the message does not contain the token. */
function refusal(jwt: string, change?: Partial<TokenExpectation>): string {
  try {
    verifyToken(jwt, expected(change));
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    expect(error.hint).not.toBe('');
    expect(error.message).toMatch(/^[\x20-\x7e’]*$/);
    const signature = jwt.split('.')[2] ?? '';
    if (signature.length > 8) expect(error.message + error.hint).not.toContain(signature);
    return error.code;
  }
  return 'accepted';
}

const raw = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('a valid token', () => {
  it.each(algorithms)('is accepted when signed with %s (made by jose)', async (alg) => {
    const verified = verifyToken(await token({ alg }), expected());
    expect(verified).toMatchObject({
      username: 'ann',
      audience: ['kubernetes'],
      expiry: now + 300,
    });
  });

  it('is accepted without a kid, when any published key of that algorithm signed it', async () => {
    const jwt = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256' })
      .sign(pair('ES256').privateKey);
    expect(refusal(jwt)).toBe('accepted');
  });

  it('is accepted within the clock skew after its expiry and before its start', async () => {
    expect(refusal(await token({ change: { exp: now - 29 } }))).toBe('accepted');
    expect(refusal(await token({ change: { iat: now + 29, nbf: now + 29 } }))).toBe('accepted');
  });

  it('is accepted with several audiences, when it was issued to our client', async () => {
    const change = { aud: ['account', 'kubernetes'] };
    expect(refusal(await token({ change }))).toBe('accepted');
  });
});

describe('a text that is not a signed JWT', () => {
  it.each([
    ['empty', ''],
    ['a word', 'secret'],
    ['two parts', 'a.b'],
    ['five parts (encrypted)', 'a.b.c.d.e'],
    ['not base64url', 'a+b.c/d.e='],
    ['no JSON', `${raw('{')}.${raw('{}')}.AAAA`],
    ['a header that is an array', `${raw([])}.${raw({})}.AAAA`],
    ['a header that is null', `${raw('null')}.${raw({})}.AAAA`],
    ['a line break at the end', `${raw({ alg: 'RS256' })}.${raw({})}.AAAA\n`],
  ])('is refused: %s', (_, jwt) => {
    expect(refusal(jwt)).toBe('token-malformed');
  });

  it('is refused when it is signed but its payload is not an object', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const text = `${raw({ alg: 'RS256', kid: 'x' })}.${raw('[1]')}`;
    const jwt = `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
    const key = { ...publicKey.export({ format: 'jwk' }), kid: 'x' } as SigningKey;
    expect(refusal(jwt, { keys: [key] })).toBe('token-malformed');
  });

  it('is refused when its header requires an unknown extension', async () => {
    const [, payload, signature] = (await token()).split('.');
    const header = raw({ alg: 'RS256', kid: 'RS256', crit: ['exp'] });
    expect(refusal(`${header}.${payload}.${signature}`)).toBe('token-malformed');
  });

  it('is refused when it is larger than 64 KiB', () => {
    expect(refusal('a'.repeat(70_000))).toBe('token-too-large');
  });
});

describe('a signature', () => {
  it('is required: alg none is refused in every spelling', () => {
    for (const alg of ['none', 'None', 'NONE', '', null, undefined, 0, ['RS256']]) {
      expect(refusal(`${raw({ alg })}.${raw(claims)}.`)).toBe('token-algorithm');
      expect(refusal(`${raw({ alg })}.${raw(claims)}.AAAA`)).toBe('token-algorithm');
    }
  });

  it('by HS256 with the public key as the secret is refused', async () => {
    const { publicKey, jwk } = pair('RS256');
    const text = `${raw({ alg: 'HS256', kid: 'RS256' })}.${raw(claims)}`;
    for (const secret of [await exportSPKI(publicKey), JSON.stringify(jwk), String(jwk.n)]) {
      const mac = createHmac('sha256', secret).update(text).digest('base64url');
      expect(refusal(`${text}.${mac}`)).toBe('token-algorithm');
    }
  });

  it('must use the algorithm of the key', async () => {
    expect(refusal(await token({ alg: 'PS256', kid: 'RS256' }))).toBe('token-algorithm');
    expect(refusal(await token({ alg: 'ES256', kid: 'RS256' }))).toBe('token-algorithm');
    expect(refusal(await token({ alg: 'ES256', kid: 'ES384' }))).toBe('token-algorithm');
  });

  it('must be made with a key that the issuer publishes', async () => {
    expect(refusal(await token({ kid: 'another' }))).toBe('token-key-unknown');
    expect(refusal(await token(), { keys: [] })).toBe('token-key-unknown');
  });

  it('is refused for a changed payload, and when another key made it', async () => {
    const [header, , signature] = (await token()).split('.');
    const forged = raw({ ...claims, preferred_username: 'root' });
    expect(refusal(`${header}.${forged}.${signature}`)).toBe('token-signature');
    const stranger = await generateKeyPair('RS256');
    const jwt = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'RS256' })
      .sign(stranger.privateKey);
    expect(refusal(jwt)).toBe('token-signature');
    expect(refusal(`${jwt.split('.').slice(0, 2).join('.')}.`)).toBe('token-signature');
  });

  it('is refused when a bit of it is changed', async () => {
    for (const alg of algorithms) {
      const [header, payload, signature] = (await token({ alg })).split('.');
      const bytes = Buffer.from(signature ?? '', 'base64url');
      for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
        const broken = Buffer.from(bytes);
        broken[at] = (broken[at] ?? 0) ^ 1;
        const jwt = `${header}.${payload}.${broken.toString('base64url')}`;
        expect(refusal(jwt)).toBe('token-signature');
      }
    }
  });

  it('is accepted as Ed25519 (RFC 9864) and as EdDSA', async () => {
    const { privateKey, jwk } = pair('EdDSA');
    const sign = (alg: string) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid: 'EdDSA' }).sign(privateKey);
    for (const published of ['EdDSA', 'Ed25519', undefined])
      for (const alg of ['EdDSA', 'Ed25519'])
        expect(refusal(await sign(alg), { keys: [{ ...jwk, alg: published }] })).toBe('accepted');
    const { x } = generateKeyPairSync('ed448').publicKey.export({ format: 'jwk' });
    const ed448 = { kty: 'OKP', crv: 'Ed448', x, kid: 'EdDSA' } as SigningKey;
    expect(refusal(await sign('Ed25519'), { keys: [ed448] })).toBe('token-algorithm');
  });

  it.each<[string, object]>([
    ['a modulus that is not base64url', { n: '!' }],
    ['no modulus', { n: undefined }],
    ['fewer than 2048 bits', small.publicKey.export({ format: 'jwk' })],
    ['an unknown type', { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA' }],
    ['a type that is a number', { kty: 1 }],
    ['an unknown curve', { kty: 'EC', crv: 'P-999', x: 'AAAA', y: 'AAAA', alg: undefined }],
    ['a point off its curve', { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', alg: undefined }],
    ['a symmetric secret', { kty: 'oct', k: 'AAAA', alg: 'HS256' }],
    ['a broken certificate', { x5c: ['not a certificate'], n: '' }],
    ['a use that is not sig', { use: 'enc' }],
    ['operations that are not verify', { key_ops: ['encrypt'] }],
    ['another algorithm', { alg: 'RSA-OAEP' }],
  ])('is accepted when other keys in the JWKS have %s', async (_, broken) => {
    const { privateKey, jwk } = pair('RS256');
    const keys = [{ ...jwk, ...broken }, jwk, { ...jwk, ...broken }] as SigningKey[];
    expect(refusal(await token(), { keys })).toBe('accepted');
    const unnamed = new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    expect(refusal(await unnamed, { keys })).toBe('accepted');
  });

  it.each([
    { n: '!' },
    { use: 'enc' },
    { alg: 'PS256' },
    { kty: 'EC' },
    small.publicKey.export({ format: 'jwk' }),
  ])('is refused when the only key with its kid cannot be used: %o', async (broken) => {
    const keys = [{ ...pair('RS256').jwk, ...broken }];
    expect(refusal(await token(), { keys })).toBe('token-algorithm');
  });
});

describe('the claims', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['another issuer', { iss: 'https://idp.example.org/realms/hpc/' }, 'token-issuer'],
    ['no issuer', { iss: undefined }, 'token-issuer'],
    ['wrong audience', { aud: 'grafana' }, 'token-audience'],
    ['no audience', { aud: undefined }, 'token-audience'],
    ['an audience that is not a string', { aud: [1] }, 'token-audience'],
    ['issued to another client', { azp: 'grafana' }, 'token-authorized-party'],
    [
      'several audiences and no azp',
      { aud: ['kubernetes', 'grafana'], azp: undefined },
      'token-authorized-party',
    ],
    ['expired', { exp: now - 31 }, 'token-expired'],
    ['expired in this second', { exp: now - 30 }, 'token-expired'],
    ['without an expiry', { exp: undefined }, 'token-malformed'],
    ['with an expiry that is a string', { exp: '9999999999' }, 'token-malformed'],
    ['not yet valid', { nbf: now + 31 }, 'token-not-yet-valid'],
    ['issued in the future', { iat: now + 31 }, 'token-not-yet-valid'],
    ['of another user', { preferred_username: 'bob' }, 'token-of-another-user'],
    [
      'of the user, with an upper-case letter',
      { preferred_username: 'Ann' },
      'token-of-another-user',
    ],
    ['of a list of users', { preferred_username: ['ann'] }, 'token-of-another-user'],
    ['of no user', { preferred_username: undefined }, 'token-of-another-user'],
    ['with control characters', { preferred_username: '\u001b[2Jann' }, 'token-of-another-user'],
    ['a refresh token (Keycloak)', { typ: 'Refresh' }, 'token-type'],
    ['an access token (Keycloak)', { typ: 'Bearer' }, 'token-type'],
  ])('are refused: %s', async (_, change, code) => {
    expect(refusal(await token({ change }))).toBe(code);
  });

  it('are refused in an access token in place of an ID token, and vice versa', async () => {
    const access = await token({ header: { typ: 'at+jwt' } });
    expect(refusal(access)).toBe('token-type');
    expect(refusal(access, { kind: 'access' })).toBe('accepted');
    expect(refusal(await token({ change: { typ: 'ID' } }), { kind: 'access' })).toBe('token-type');
    expect(refusal(await token({ change: { typ: 'Bearer' } }), { kind: 'access' })).toBe(
      'accepted',
    );
    expect(refusal(await token({ header: { typ: 'logout+jwt' } }))).toBe('token-type');
  });

  it('are refused when the user is named by an unverified email address', async () => {
    const by = { usernameClaim: 'email', username: 'ann@example.org' };
    const ifPresent = { ...by, emailVerified: 'if-present' } as const;
    const verified = (email_verified: unknown) =>
      token({ change: { email: 'ann@example.org', email_verified } });
    for (const word of [false, 'false', 'true', 0, 1, null]) {
      expect(refusal(await verified(word), by)).toBe('token-of-another-user');
      expect(refusal(await verified(word), ifPresent)).toBe('token-of-another-user');
    }
    expect(refusal(await verified(undefined), by)).toBe('token-of-another-user');
    expect(refusal(await verified(undefined), ifPresent)).toBe('accepted');
    expect(refusal(await verified(true), by)).toBe('accepted');
  });
});
