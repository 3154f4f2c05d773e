import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TokenExpectation, verifyToken } from '../../../../src/credentials/oidc/token.ts';
import type { SigningKey } from '../../../../src/credentials/oidc/token-signature.ts';
import { BerthError } from '../../../../src/errors.ts';

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

const pairs = new Map<string, { privateKey: CryptoKey; publicKey: CryptoKey; jwk: SigningKey }>();
function pair(alg: string): { privateKey: CryptoKey; publicKey: CryptoKey; jwk: SigningKey } {
  const made = pairs.get(alg);
  if (made === undefined) throw new Error(`no key for ${alg}`);
  return made;
}
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

/** The code, and that the message gives the token away to nobody. */
async function refusal(jwt: string, change?: Partial<TokenExpectation>): Promise<string> {
  try {
    await verifyToken(jwt, expected(change));
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

describe('a token that is good', () => {
  it.each(algorithms)('is accepted when signed with %s (made by jose)', async (alg) => {
    const verified = await verifyToken(await token({ alg }), expected());
    expect(verified).toMatchObject({
      username: 'ann',
      audience: ['kubernetes'],
      expiry: now + 300,
    });
  });

  it('is accepted without a kid, when one of the fitting keys signed it', async () => {
    const jwt = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256' })
      .sign(pair('ES256').privateKey);
    expect(await refusal(jwt)).toBe('accepted');
  });

  it('may have ended, or may begin, by no more than the tolerated difference of clocks', async () => {
    expect(await refusal(await token({ change: { exp: now - 29 } }))).toBe('accepted');
    expect(await refusal(await token({ change: { iat: now + 29, nbf: now + 29 } }))).toBe(
      'accepted',
    );
  });

  it('may have more audiences, when it says that it was issued to our client', async () => {
    const change = { aud: ['account', 'kubernetes'] };
    expect(await refusal(await token({ change }))).toBe('accepted');
  });
});

describe('what is no signed JWT', () => {
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
  ])('is refused: %s', async (_, jwt) => {
    expect(await refusal(jwt)).toBe('token-malformed');
  });

  it('is refused when its payload is no object, though it is signed', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const text = `${raw({ alg: 'RS256', kid: 'x' })}.${raw('[1]')}`;
    const jwt = `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
    const key = { ...publicKey.export({ format: 'jwk' }), kid: 'x' } as SigningKey;
    expect(await refusal(jwt, { keys: [key] })).toBe('token-malformed');
  });

  it('is refused when it asks for an extension that we do not have', async () => {
    const [, payload, signature] = (await token()).split('.');
    const header = raw({ alg: 'RS256', kid: 'RS256', crit: ['exp'] });
    expect(await refusal(`${header}.${payload}.${signature}`)).toBe('token-malformed');
  });

  it('is refused when it is larger than any token', async () => {
    expect(await refusal('a'.repeat(70_000))).toBe('token-too-large');
  });
});

describe('a signature', () => {
  it('is wanted: alg none is refused in every spelling', async () => {
    for (const alg of ['none', 'None', 'NONE', '', null, undefined, 0, ['RS256']]) {
      expect(await refusal(`${raw({ alg })}.${raw(claims)}.`)).toBe('token-algorithm');
      expect(await refusal(`${raw({ alg })}.${raw(claims)}.AAAA`)).toBe('token-algorithm');
    }
  });

  it('is not one when it was made by HS256 with the public key', async () => {
    const { publicKey, jwk } = pair('RS256');
    const text = `${raw({ alg: 'HS256', kid: 'RS256' })}.${raw(claims)}`;
    for (const secret of [await exportSPKI(publicKey), JSON.stringify(jwk), String(jwk.n)]) {
      const mac = createHmac('sha256', secret).update(text).digest('base64url');
      expect(await refusal(`${text}.${mac}`)).toBe('token-algorithm');
    }
  });

  it('must be of the algorithm that the key is for', async () => {
    expect(await refusal(await token({ alg: 'PS256', kid: 'RS256' }))).toBe('token-algorithm');
    expect(await refusal(await token({ alg: 'ES256', kid: 'RS256' }))).toBe('token-algorithm');
    expect(await refusal(await token({ alg: 'ES256', kid: 'ES384' }))).toBe('token-algorithm');
  });

  it('must be of a key that the issuer publishes', async () => {
    expect(await refusal(await token({ kid: 'another' }))).toBe('token-key-unknown');
    expect(await refusal(await token(), { keys: [] })).toBe('token-key-unknown');
  });

  it('does not hold for a changed payload or header, or another key of the same kind', async () => {
    const [header, , signature] = (await token()).split('.');
    const forged = raw({ ...claims, preferred_username: 'root' });
    expect(await refusal(`${header}.${forged}.${signature}`)).toBe('token-signature');
    const stranger = await generateKeyPair('RS256');
    const jwt = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'RS256' })
      .sign(stranger.privateKey);
    expect(await refusal(jwt)).toBe('token-signature');
    expect(await refusal(`${jwt.split('.').slice(0, 2).join('.')}.`)).toBe('token-signature');
  });

  it('does not hold when it is broken at any byte', async () => {
    for (const alg of algorithms) {
      const [header, payload, signature] = (await token({ alg })).split('.');
      const bytes = Buffer.from(signature ?? '', 'base64url');
      for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
        const broken = Buffer.from(bytes);
        broken[at] = (broken[at] ?? 0) ^ 1;
        const jwt = `${header}.${payload}.${broken.toString('base64url')}`;
        expect(await refusal(jwt)).toBe('token-signature');
      }
    }
  });

  it('is accepted by the name that RFC 9864 gives it, Ed25519, like EdDSA', async () => {
    const { privateKey, jwk } = pair('EdDSA');
    const sign = (alg: string) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid: 'EdDSA' }).sign(privateKey);
    for (const published of ['EdDSA', 'Ed25519', undefined])
      for (const alg of ['EdDSA', 'Ed25519'])
        expect(
          await refusal(await sign(alg), { keys: [{ ...jwk, alg: published } as SigningKey] }),
        ).toBe('accepted');
    const { x } = generateKeyPairSync('ed448').publicKey.export({ format: 'jwk' });
    const ed448 = { kty: 'OKP', crv: 'Ed448', x, kid: 'EdDSA' } as SigningKey;
    expect(await refusal(await sign('Ed25519'), { keys: [ed448] })).toBe('token-algorithm');
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
  ])('is accepted when a key beside the right one has %s', async (_, broken) => {
    const { privateKey, jwk } = pair('RS256');
    const keys = [{ ...jwk, ...broken }, jwk, { ...jwk, ...broken }] as SigningKey[];
    expect(await refusal(await token(), { keys })).toBe('accepted');
    const unnamed = new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    expect(await refusal(await unnamed, { keys })).toBe('accepted');
  });

  it.each([
    { n: '!' },
    { use: 'enc' },
    { alg: 'PS256' },
    { kty: 'EC' },
    small.publicKey.export({ format: 'jwk' }),
  ])('is refused when the only key that it names is not usable: %o', async (broken) => {
    const keys = [{ ...pair('RS256').jwk, ...broken }];
    expect(await refusal(await token(), { keys })).toBe('token-algorithm');
  });

  it('is not taken from a key that is for encryption', async () => {
    const jwk = { ...pair('RS256').jwk, use: 'enc' };
    expect(await refusal(await token(), { keys: [jwk] })).toBe('token-algorithm');
  });
});

describe('the claims', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['another issuer', { iss: 'https://idp.example.org/realms/hpc/' }, 'token-issuer'],
    ['no issuer', { iss: undefined }, 'token-issuer'],
    ['wrong audience', { aud: 'grafana' }, 'token-audience'],
    ['no audience', { aud: undefined }, 'token-audience'],
    ['an audience that is no text', { aud: [1] }, 'token-audience'],
    ['issued to another client', { azp: 'grafana' }, 'token-authorized-party'],
    [
      'several audiences, and no word of whose it is',
      { aud: ['kubernetes', 'grafana'], azp: undefined },
      'token-authorized-party',
    ],
    ['expired', { exp: now - 31 }, 'token-expired'],
    ['expired on the second', { exp: now - 30 }, 'token-expired'],
    ['without an end', { exp: undefined }, 'token-malformed'],
    ['with an end that is text', { exp: '9999999999' }, 'token-malformed'],
    ['not yet valid', { nbf: now + 31 }, 'token-not-yet-valid'],
    ['issued in the future', { iat: now + 31 }, 'token-not-yet-valid'],
    ['of another user', { preferred_username: 'bob' }, 'token-of-another-user'],
    ['of the user in another spelling', { preferred_username: 'Ann' }, 'token-of-another-user'],
    ['of a list of users', { preferred_username: ['ann'] }, 'token-of-another-user'],
    ['of nobody', { preferred_username: undefined }, 'token-of-another-user'],
    ['with control characters', { preferred_username: '\u001b[2Jann' }, 'token-of-another-user'],
    ['a refresh token (Keycloak)', { typ: 'Refresh' }, 'token-type'],
    ['an access token (Keycloak)', { typ: 'Bearer' }, 'token-type'],
  ])('are refused: %s', async (_, change, code) => {
    expect(await refusal(await token({ change }))).toBe(code);
  });

  it('are refused in an access token where an ID token is wanted, and the other way round', async () => {
    const access = await token({ header: { typ: 'at+jwt' } });
    expect(await refusal(access)).toBe('token-type');
    expect(await refusal(access, { kind: 'access' })).toBe('accepted');
    expect(await refusal(await token({ change: { typ: 'ID' } }), { kind: 'access' })).toBe(
      'token-type',
    );
    expect(await refusal(await token({ change: { typ: 'Bearer' } }), { kind: 'access' })).toBe(
      'accepted',
    );
    expect(await refusal(await token({ header: { typ: 'logout+jwt' } }))).toBe('token-type');
  });

  it('are refused when the address that names the user is not verified', async () => {
    const change = { email: 'ann@example.org', email_verified: false };
    const by = { usernameClaim: 'email', username: 'ann@example.org' };
    expect(await refusal(await token({ change }), by)).toBe('token-of-another-user');
    const verified = await token({ change: { ...change, email_verified: true } });
    expect(await refusal(verified, by)).toBe('accepted');
  });
});
