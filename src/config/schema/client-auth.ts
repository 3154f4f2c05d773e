import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { BerthError, type ErrorCode } from '../../system/errors/berth-error.ts';
import type { ClusterOptions } from './berth-yml.ts';
import { configError } from './config-error.ts';
import type { ClientAuth } from './settings.ts';
import type { SiteFileContents } from './site-file-contents.ts';

type CredentialOptions = NonNullable<ClusterOptions['credentials']>;

/**
 * How the client proves its identity at the identity provider.
 *
 * @param hookEnvSecret `CLIENT_SECRET` of hook.env, where it belongs to this client.
 * @returns Nothing for a public client.
 * @throws BerthError `credentials-incomplete`, `credentials-contradictory`, `client-key-unusable`,
 *   `client-certificate-unusable`, all with `cluster`; what reading a file gave
 */
export function parseClientAuth(
  options: CredentialOptions,
  hookEnvSecret: string | undefined,
  { berthFile, clientFiles }: Pick<SiteFileContents, 'berthFile' | 'clientFiles'>,
  cluster: string,
): ClientAuth | undefined {
  const fault = (code: ErrorCode, file: string, message: string, hint: string): BerthError =>
    configError(code, file, message, hint, { cluster });
  const contents = (path: string): string => {
    const read = clientFiles.get(path);
    if (read instanceof BerthError) throw read;
    return read ?? '';
  };
  const method = options.client_auth_method;
  const needed = (key: 'client_key_file' | 'client_certificate_file'): string => {
    const path = options[key];
    if (path !== undefined) return path;
    throw fault(
      'credentials-incomplete',
      berthFile,
      `credentials.client_auth_method is ${String(method)}, and credentials.${key} is not set`,
      `Set credentials.${key} to a PEM file that only root can read.`,
    );
  };
  const used = {
    client_key_file: method === 'private_key_jwt' || method === 'tls_client_auth',
    client_key_id: method === 'private_key_jwt',
    client_certificate_file: method === 'tls_client_auth',
  };
  for (const [key, isUsed] of Object.entries(used))
    if (!isUsed && options[key as keyof typeof used] !== undefined)
      throw fault(
        'credentials-contradictory',
        berthFile,
        `credentials.${key} has no effect with client_auth_method ${method ?? 'client_secret_basic'}`,
        `Set credentials.client_auth_method to private_key_jwt or tls_client_auth, or remove ${key}.`,
      );

  switch (method) {
    case undefined:
    case 'client_secret_basic':
    case 'client_secret_post': {
      const file = options.client_secret_file;
      const secret = file === undefined ? hookEnvSecret : contents(file);
      if (secret !== undefined) return { method: method ?? 'client_secret_basic', secret };
      if (method === undefined) return undefined;
      throw fault(
        'credentials-incomplete',
        berthFile,
        `credentials.client_auth_method is ${method}, and there is no client secret`,
        'Set credentials.client_secret_file, or CLIENT_SECRET in hook.env.',
      );
    }
    case 'private_key_jwt':
    case 'tls_client_auth': {
      const keyFile = needed('client_key_file');
      const key = contents(keyFile);
      const object = privateKey(key);
      if (object === undefined || (method === 'private_key_jwt' && !canSign(object)))
        throw fault(
          'client-key-unusable',
          keyFile,
          `it contains no private key that can be used for ${method}`,
          'Write an unencrypted PEM key: RSA of 2048 bits or more, or EC on P-256, P-384 or P-521. `openssl pkey -in FILE -noout -text` shows what it is.',
        );
      if (method === 'private_key_jwt') {
        const { client_key_id: keyId } = options;
        return { method, key, keyId };
      }
      const file = needed('client_certificate_file');
      const certificate = contents(file);
      if (belongs(certificate, object)) return { method, key, certificate };
      throw fault(
        'client-certificate-unusable',
        file,
        `it contains no PEM certificate for the key in ${keyFile}`,
        'Write the client certificate first, then intermediate certificates. `openssl x509 -in FILE -noout -pubkey` and `openssl pkey -in KEY -pubout` must print the same key.',
      );
    }
  }
}

function privateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's error message does not help an admin.
    return undefined;
  }
}

function canSign({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'rsa') return (details?.modulusLength ?? 0) >= 2048;
  const curves = ['prime256v1', 'secp384r1', 'secp521r1'];
  return type === 'ec' && curves.includes(details?.namedCurve ?? '');
}

function belongs(pem: string, key: KeyObject): boolean {
  try {
    return new X509Certificate(pem).checkPrivateKey(key);
  } catch {
    return false;
  }
}
