import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterOptions } from '../../../../src/config/schema/berth-yml.ts';
import { parseClientAuth } from '../../../../src/config/schema/client-auth.ts';
import type { ClientAuth } from '../../../../src/config/schema/settings.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import { CertificateAuthority } from '../../../rig/site/certificates.ts';

type Options = NonNullable<ClusterOptions['credentials']>;

const pem = { type: 'pkcs8', format: 'pem' } as const;
const rsa = (bits: number): string =>
  String(generateKeyPairSync('rsa', { modulusLength: bits }).privateKey.export(pem));
const ec = (namedCurve: string): string =>
  String(generateKeyPairSync('ec', { namedCurve }).privateKey.export(pem));
const files: Record<string, string> = {
  '/secret': 'of-a-file',
  '/rsa': rsa(2048),
  '/rsa-small': rsa(1024),
  '/ec': ec('P-256'),
  '/secp256k1': ec('secp256k1'),
  '/ed25519': String(generateKeyPairSync('ed25519').privateKey.export(pem)),
  '/encrypted': String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      ...pem,
      cipher: 'aes-256-cbc',
      passphrase: 'x',
    }),
  ),
  '/public': String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
      type: 'spki',
      format: 'pem',
    }),
  ),
};
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-client-auth-'));
  const ca = await CertificateAuthority.create(join(directory, 'ca'));
  const { cert, key } = await ca.client('ondemand');
  files['/cert'] = await readFile(cert, 'utf8');
  files['/cert-key'] = await readFile(key, 'utf8');
});
afterAll(() => rm(directory, { recursive: true }));

function authenticate(options: Options, hookEnvSecret?: string): ClientAuth | undefined {
  const missing = new BerthError('config-missing', '/gone does not exist', {
    exit: 'config',
    hint: 'x',
  });
  const clientFiles = new Map<string, string | BerthError>(Object.entries(files));
  clientFiles.set('/gone', missing);
  return parseClientAuth(options, hookEnvSecret, { berthFile: 'berth.yml', clientFiles }, 'prod');
}

function refusal(options: Options): BerthError {
  try {
    authenticate(options);
  } catch (error) {
    if (error instanceof BerthError) return error;
  }
  throw new Error('not refused');
}

const jwt = { client_auth_method: 'private_key_jwt' } as const;
const tls = { client_auth_method: 'tls_client_auth' } as const;

describe('client authentication', () => {
  it('is none without a secret', () => {
    expect(authenticate({})).toBeUndefined();
  });

  it('is by a secret of hook.env or of a file, with HTTP Basic unless told otherwise', () => {
    const basic = { method: 'client_secret_basic' };
    expect(authenticate({}, 's')).toEqual({ ...basic, secret: 's' });
    expect(authenticate({ client_secret_file: '/secret' }, 's')).toEqual({
      ...basic,
      secret: 'of-a-file',
    });
    expect(authenticate({ client_auth_method: 'client_secret_post' }, 's')).toEqual({
      method: 'client_secret_post',
      secret: 's',
    });
  });

  it('is by a private key, whatever secret hook.env has', () => {
    expect(authenticate({ ...jwt, client_key_file: '/rsa' }, 's')).toEqual({
      method: 'private_key_jwt',
      key: files['/rsa'],
    });
    const options: Options = { ...jwt, client_key_file: '/ec', client_key_id: 'k1' };
    expect(authenticate(options)).toEqual({
      ...{ method: 'private_key_jwt', key: files['/ec'], keyId: 'k1' },
    });
  });

  it('is by a certificate and its key', () => {
    const options: Options = {
      ...{ ...tls, client_key_file: '/cert-key', client_certificate_file: '/cert' },
    };
    expect(authenticate(options)).toEqual({
      ...{ method: 'tls_client_auth', key: files['/cert-key'], certificate: files['/cert'] },
    });
  });

  it.each<[string, Options, string, string]>([
    ['a method without its key', jwt, 'credentials-incomplete', 'credentials.client_key_file'],
    [
      'a method without its certificate',
      { ...tls, client_key_file: '/cert-key' },
      'credentials-incomplete',
      'credentials.client_certificate_file',
    ],
    [
      'a method without its secret',
      { client_auth_method: 'client_secret_post' },
      'credentials-incomplete',
      'credentials.client_secret_file',
    ],
    [
      'a key without its method',
      { client_key_file: '/rsa' },
      'credentials-contradictory',
      'credentials.client_auth_method',
    ],
    [
      'a certificate with another method',
      { ...jwt, client_key_file: '/rsa', client_certificate_file: '/cert' },
      'credentials-contradictory',
      'client_certificate_file',
    ],
    [
      'a key ID for TLS',
      {
        ...tls,
        client_key_file: '/cert-key',
        client_certificate_file: '/cert',
        client_key_id: 'x',
      },
      'credentials-contradictory',
      'client_key_id',
    ],
    ['a file that is missing', { ...jwt, client_key_file: '/gone' }, 'config-missing', ''],
    ...['/secret', '/rsa-small', '/secp256k1', '/ed25519', '/encrypted', '/public', '/cert'].map(
      (path): [string, Options, string, string] => [
        `${path} as the key of private_key_jwt`,
        { ...jwt, client_key_file: path },
        'client-key-unusable',
        'openssl pkey',
      ],
    ),
    [
      'no key for TLS',
      { ...tls, client_key_file: '/cert', client_certificate_file: '/cert' },
      'client-key-unusable',
      'openssl pkey',
    ],
    [
      'a certificate of another key',
      { ...tls, client_key_file: '/rsa', client_certificate_file: '/cert' },
      'client-certificate-unusable',
      'openssl x509',
    ],
    [
      'no certificate',
      { ...tls, client_key_file: '/cert-key', client_certificate_file: '/secret' },
      'client-certificate-unusable',
      'openssl x509',
    ],
  ])('is refused with %s', (_, options, code, hint) => {
    const error = refusal(options);
    expect(error.code).toBe(code);
    expect(error.hint).toContain(hint);
    if (code !== 'config-missing') expect(error.fields).toMatchObject({ cluster: 'prod' });
    for (const path of ['/secret', '/rsa', '/cert-key'])
      expect(error.message + error.hint).not.toContain(files[path]?.slice(0, 60));
  });
});
