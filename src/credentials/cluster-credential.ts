import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterSettings } from '../config/schema/settings.ts';
import {
  type CredentialCache,
  credentialCachePath,
  pluginRefresh,
  readCredentialCacheAsync,
} from './credential-cache.ts';
import {
  type CredentialFiles,
  legacyFiles,
  noCredentialFiles,
  oidcFiles,
  serviceAccountFiles,
} from './credential-files.ts';
import { assertHome } from './kubeconfig/read-kubeconfig.ts';
import {
  type DescendantToken,
  refreshTokenDigest,
  renewalLock,
  otherCredentialFiles,
} from './refresh-token-lineage.ts';
import {
  type EarlierTokens,
  obtainContext,
  type OnDemandTokens,
  type ProviderAccess,
  renewableToken,
} from './renewable-token.ts';
import {
  readStoredCredential,
  type StoredCredential,
  storedCredentialLock,
  storedCredentialPath,
} from './root-credential-store.ts';
import { BerthError, expectBerthError } from '../system/errors/berth-error.ts';
import type { User } from '../system/identity/nss.ts';
import { asRoot, asUser } from '../system/as-user.ts';
import { writeAtomically, writeError } from '../system/atomic-file.ts';
import { makeDirectoryInHome } from '../system/user-file.ts';
import { takeLock } from '../system/file-lock.ts';

export interface ClusterCredentialDeps extends ProviderAccess {
  /** Absolute path of the installed `kube-credential`. */
  readonly kubeCredentialCommand: string;
  readonly stateDir: string;
  readonly mintToken: MintToken;
  /** How long to wait for another hook or the broker, in milliseconds. */
  readonly lockWaitMs: number;
  /** ID of the login that the credential is from. */
  readonly session?: string;
}

/**
 * Requests a token of the user's ServiceAccount (TokenRequest).
 *
 * @returns the token, and its expiry in seconds since the epoch
 */
export type MintToken = (
  cluster: ClusterSettings,
  user: Pick<User, 'name' | 'uid'>,
) => Promise<{ readonly token: string; readonly expiry: number }>;

/** One user on one cluster, and where the two copies of the credential are. */
interface Subject {
  readonly user: User;
  readonly cluster: ClusterSettings;
  readonly tokens: OnDemandTokens;
  /** Root's copy. */
  readonly store: string;
  /** The user's copy. */
  readonly file: string;
}

const foreignStaleMs = 60_000;

/**
 * Makes a user's verified credential for one cluster and writes it: root's copy into the state
 * directory, the user's into the home, as the user. The caller writes the kubeconfig.
 *
 * Every use of a refresh token or of root's store holds root's lock for this user and cluster, so that
 * only one of several hooks and the broker uses the token. For a public client whose portal token is still
 * valid, neither the refresh token nor the lock is needed.
 *
 * @returns what was written
 * @throws {BerthError} `lock-timeout`, and what `renewableToken`, `mintToken`, `writeAtomically` and
 *   `readPrivateFile` throw
 */
export async function clusterCredential(
  user: User,
  cluster: ClusterSettings,
  tokens: OnDemandTokens,
  deps: ClusterCredentialDeps,
): Promise<CredentialFiles> {
  if (cluster.credentials.mode === 'none') return noCredentialFiles;
  const store = storedCredentialPath(deps.stateDir, user.uid, cluster.name);
  const file = join(user.home, credentialCachePath(cluster.server.endpoint));
  const subject = { user, cluster, tokens, store, file };
  if (
    cluster.credentials.mode === 'oidc' &&
    cluster.credentials.clientAuth === undefined &&
    !cluster.credentials.exchange
  ) {
    try {
      return await obtainAndWrite(subject, { mayRefresh: false }, deps);
    } catch (thrown) {
      if (!(thrown instanceof BerthError) || thrown.code !== 'refresh-needed') throw thrown;
    }
  }
  const lockFile = storedCredentialLock(store, refreshTokenInUse(cluster, tokens));
  return await oneByOne(lockFile, async () => {
    const lock = await asRoot(() =>
      takeLock(lockFile, { timeoutMs: deps.lockWaitMs, foreignStaleMs }),
    );
    try {
      const { stored, others } = await asRoot(async () => ({
        stored: readStoredCredential(store),
        others: (await otherCredentialFiles(store)).map((path) => readStoredCredential(path) ?? {}),
      }));
      const inHome = renewsItself(cluster) ? await descendantsInHome(file, user) : [];
      const earlier = { stored, descendants: [...others, ...inHome] };
      return await obtainAndWrite(subject, earlier, deps);
    } finally {
      await asRoot(() => lock?.release());
    }
  });
}

async function obtainAndWrite(
  subject: Subject,
  { stored, ...earlier }: EarlierTokens,
  deps: ClusterCredentialDeps,
): Promise<CredentialFiles> {
  const { user, cluster, store, file } = subject;
  const cached = await asUser(user, () => readUsersFile(file, user));
  const files = await obtain(subject, deps, {
    ...earlier,
    ...(stored?.username === user.name && { stored }),
    ...(cached && renewsItself(cluster) && { cached }),
    keep: async (next) => {
      await writeStore(store, { version: 1, username: user.name, token: '', expiry: 0, ...next });
    },
  });
  await writeFiles(subject, files, { stored, cached, session: deps.session });
  return files;
}

async function obtain(
  { user, cluster, tokens }: Subject,
  deps: ClusterCredentialDeps,
  earlier: EarlierTokens,
): Promise<CredentialFiles> {
  const { credentials } = cluster;
  const { kubeCredentialCommand } = deps;
  const owner = { name: user.name, uid: user.uid, kubeCredentialCommand };
  if (credentials.mode === 'none') return noCredentialFiles;
  if (credentials.mode === 'service-account')
    return serviceAccountFiles(owner, cluster, await deps.mintToken(cluster, user));
  const settings = credentials.mode === 'legacy' ? credentials.oidc : credentials;
  const context = await obtainContext(settings, user.name, deps);
  const token = await renewableToken(context, tokens, earlier);
  return credentials.mode === 'legacy'
    ? legacyFiles(cluster, settings, token)
    : oidcFiles(owner, cluster, context, token);
}

/** The refresh token that the hook may use: it decides which lock is held. */
function refreshTokenInUse(
  { credentials }: ClusterSettings,
  { refreshToken }: OnDemandTokens,
): Pick<StoredCredential, 'own' | 'origin'> {
  if (credentials.mode === 'oidc' && credentials.ownRefreshToken === true) return { own: true };
  const none = credentials.mode === 'service-account' || refreshToken === undefined;
  return none ? {} : { origin: refreshTokenDigest(refreshToken) };
}

/** By lock: the last piece of work in this process that needs it. */
const queues = new Map<string, Promise<unknown>>();

/**
 * Waiting for a lock occupies `asRoot`, which the holder needs to finish. So within this process, work
 * that needs the same lock is queued before it.
 */
function oneByOne<T>(lockFile: string, work: () => Promise<T>): Promise<T> {
  const run = (queues.get(lockFile) ?? Promise.resolve()).then(work);
  queues.set(
    lockFile,
    run.catch(() => undefined),
  );
  return run;
}

/** The user's copy is an input for a public client only: root's secret is never used with a user's token. */
function renewsItself({ credentials }: ClusterSettings): boolean {
  return credentials.mode === 'oidc' && credentials.clientAuth === undefined;
}

/**
 * Writes both copies, root's first: a crash must not lose it. An unchanged file is not written again,
 * because each write waits for the disk.
 */
async function writeFiles(
  { user, store, file }: Subject,
  { rootStore, cacheFile }: CredentialFiles,
  {
    session,
    ...before
  }: {
    stored: StoredCredential | undefined;
    cached: CredentialCache | undefined;
    session: string | undefined;
  },
): Promise<void> {
  const stored = before.stored && { ...before.stored, session: undefined };
  if (rootStore !== undefined && !same(rootStore, stored))
    await writeStore(store, { ...rootStore, session });
  if (cacheFile === undefined || same(cacheFile, before.cached)) return;
  await asUser(user, async () => {
    await makeDirectory(user, dirname(file));
    // A kubectl that is renewing the same refresh token may have a newer result: wait, and look again.
    const lock = isSameOrigin(before.cached, cacheFile)
      ? await takeLock(renewalLock(file, pluginRefresh(cacheFile)?.origin), {
          timeoutMs: 2_000,
          foreignStaleMs,
        })
      : undefined;
    try {
      if (!renewedMeanwhile(await readUsersFile(file, user), cacheFile)) {
        await writeAtomically(file, JSON.stringify(cacheFile), {
          mode: 0o600,
          // Not the successor of a single-use refresh token: there is no other copy of it.
          replaceable: pluginRefresh(cacheFile)?.turn === undefined,
        });
      }
    } finally {
      await lock?.release();
    }
  });
}

/** @throws {BerthError} what `assertHome` and `writeError` say of the failure */
async function makeDirectory(user: User, directory: string): Promise<void> {
  try {
    await makeDirectoryInHome(user.home, directory);
    await chmod(directory, 0o700);
  } catch (cause) {
    await assertHome(user);
    throw writeError(directory, cause);
  }
}

function same(next: object, current: object | undefined): boolean {
  return JSON.stringify(next) === JSON.stringify(current);
}

/** True if the refresh tokens of both descend from the same token of the portal. */
function isSameOrigin(current: CredentialCache | undefined, next: CredentialCache): boolean {
  const origin = pluginRefresh(current)?.origin;
  return origin !== undefined && origin === pluginRefresh(next)?.origin;
}

/** True if the file's refresh token has the same origin as ours and was obtained later. */
function renewedMeanwhile(current: CredentialCache | undefined, next: CredentialCache): boolean {
  return (
    isSameOrigin(current, next) &&
    pluginRefresh(current)?.refreshToken !== pluginRefresh(next)?.refreshToken &&
    (current?.expiry ?? 0) > next.expiry
  );
}

/** The refresh tokens that the user's kubectl renewed for other clusters. */
function descendantsInHome(path: string, user: User): Promise<Partial<DescendantToken>[]> {
  return asUser(user, async () => {
    const found: Partial<DescendantToken>[] = [];
    // One after the other: each may be as large as a credential file can be.
    for (const file of await otherCredentialFiles(path))
      found.push(pluginRefresh(await readUsersFile(file, user)) ?? {});
    return found;
  });
}

/** @returns undefined also for an unusable file: it is replaced */
async function readUsersFile(path: string, user: User): Promise<CredentialCache | undefined> {
  try {
    return await readCredentialCacheAsync(path, user.uid);
  } catch (error) {
    expectBerthError(error);
    return undefined;
  }
}

async function writeStore(path: string, stored: StoredCredential): Promise<void> {
  await asRoot(async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeAtomically(path, JSON.stringify(stored), { mode: 0o600 });
  });
}
