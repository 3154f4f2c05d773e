import type { User } from '../system/identity/nss.ts';
import { expectBerthError } from '../system/errors/berth-error.ts';
import { firstDirectoryNames } from '../system/user-file.ts';
import { credentialCachesDir, readCredentialCacheAsync } from './credential-cache.ts';

/** A credential of the user for kubectl, without the token. */
export interface OwnCredential {
  readonly cluster: string;
  /** Seconds since the epoch. */
  readonly expiry: number;
  /** Whether kubectl gets a new one then; otherwise the next login to the portal writes it. */
  readonly renews: boolean;
}

/** A user has one for each cluster. */
const most = 64;

/** The credentials for kubectl that the portal's hook wrote into the home of the user who runs this process. */
export async function ownCredentials({ home, uid }: User): Promise<readonly OwnCredential[]> {
  const directory = `${home}/${credentialCachesDir}`;
  const names = await firstDirectoryNames(directory, most);
  const found = await Promise.all(
    names
      .filter((name) => name.endsWith('.json'))
      .map((name) => readCredentialCacheAsync(`${directory}/${name}`, uid).catch(notReadable)),
  );
  return found.flatMap((cache) => {
    if (cache === undefined) return [];
    const { cluster, expiry, refresh } = cache;
    return [{ cluster, expiry, renews: refresh !== undefined }];
  });
}

/** kubectl reports it. */
function notReadable(error: unknown): undefined {
  expectBerthError(error);
  return undefined;
}
