import { createPrivateKey, type webcrypto } from 'node:crypto';
import * as oidc from 'openid-client';
import type { ClientAuth } from '../../config/schema/settings.ts';

/**
 * How a request to the token endpoint proves which client it is from: OpenID Connect Core section 9. With
 * `tls_client_auth` (RFC 8705 section 2.1) the connection proves it, and the form names the client only.
 */
export function clientAuthentication(auth: ClientAuth | undefined): oidc.ClientAuth {
  switch (auth?.method) {
    case undefined:
      return oidc.None();
    case 'client_secret_basic':
      return basic(auth.secret);
    case 'client_secret_post':
      return oidc.ClientSecretPost(auth.secret);
    case 'private_key_jwt':
      return oidc.PrivateKeyJwt({
        key: signingKey(auth.key),
        kid: auth.keyId,
      });
    case 'tls_client_auth':
      return oidc.TlsClientAuth();
  }
}

/**
 * RFC 6749 2.3.1: both are form-encoded before they are joined. openid-client also encodes `-`, `_` and
 * `.`; a provider that does not decode the header would look for a client of another name.
 */
function basic(secret: string): oidc.ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    const encoded = [client_id, secret].map((text) =>
      new URLSearchParams({ '': text }).toString().slice(1),
    );
    headers.set('authorization', `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`);
  };
}

/** RS256 with an RSA key, ES256, ES384 or ES512 with a key of that curve. */
function signingKey(pem: string): webcrypto.CryptoKey {
  const key = createPrivateKey(pem);
  const curves: Readonly<Record<string, string>> = {
    prime256v1: 'P-256',
    secp384r1: 'P-384',
    secp521r1: 'P-521',
  };
  const namedCurve = curves[key.asymmetricKeyDetails?.namedCurve ?? ''];
  const algorithm =
    namedCurve === undefined
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      : { name: 'ECDSA', namedCurve };
  return key.toCryptoKey(algorithm, false, ['sign']);
}
