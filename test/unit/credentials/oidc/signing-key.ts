import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { publicClient } from '../../../rig/local-oidc-provider.ts';

export interface SignedWith {
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
}

/** A key that the provider itself would not use, and tokens of `ann` signed with it. */
export async function signingKey({ kid, alg = 'ES256' }: SignedWith) {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const named = kid === undefined ? {} : { kid };
  return {
    jwk: { ...(await exportJWK(publicKey)), ...named, alg } as JWK,
    token: (issuer: string, now: number) =>
      new SignJWT({ preferred_username: 'ann' })
        .setProtectedHeader({ alg, ...named })
        .setIssuer(issuer)
        .setAudience(publicClient)
        .setExpirationTime(Math.floor(now) + 600)
        .sign(privateKey),
  };
}
