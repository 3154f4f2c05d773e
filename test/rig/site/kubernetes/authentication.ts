import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';

/** Prefix of OIDC user names at the API server. */
const usernamePrefix = 'oidc:';

/** The audience that tokens for the cluster must have. */
const clusterAudience = 'kubernetes';

/**
 * Writes the API server's AuthenticationConfiguration with one JWT authenticator per issuer, all with the
 * same audience and user name mapping. The API server reads the file again when it changes, and retries
 * issuers that it cannot reach.
 */
export async function writeAuthenticationConfiguration(
  file: string,
  issuers: readonly string[],
  ca: string,
): Promise<void> {
  const certificateAuthority = await readFile(ca, 'utf8');
  const configuration = {
    // v1 exists since 1.34; the tests start 1.33 too.
    apiVersion: 'apiserver.config.k8s.io/v1beta1',
    kind: 'AuthenticationConfiguration',
    jwt: issuers.map((url) => ({
      issuer: { url, audiences: [clusterAudience], certificateAuthority },
      claimMappings: { username: { claim: 'preferred_username', prefix: usernamePrefix } },
    })),
  };
  await writeFile(file, stringify(configuration));
}
