import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';

/** Prefix that the API server puts before the username claim. */
const usernamePrefix = 'oidc:';

/** The audience that a token for the cluster carries. */
const clusterAudience = 'kubernetes';

/**
 * Writes the API server's structured authentication: one JWT authenticator per issuer, all with the
 * same audience and username mapping. The API server reads the file again when it changes; an issuer
 * that cannot be reached yet is tried again until it can.
 */
export async function writeAuthenticationConfiguration(
  file: string,
  issuers: readonly string[],
  ca: string,
): Promise<void> {
  const certificateAuthority = await readFile(ca, 'utf8');
  const configuration = {
    // Known to all that we start; v1 is since 1.34.
    apiVersion: 'apiserver.config.k8s.io/v1beta1',
    kind: 'AuthenticationConfiguration',
    jwt: issuers.map((url) => ({
      issuer: { url, audiences: [clusterAudience], certificateAuthority },
      claimMappings: { username: { claim: 'preferred_username', prefix: usernamePrefix } },
    })),
  };
  await writeFile(file, stringify(configuration));
}
