import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterSettings } from '../config/settings.ts';
import {
  type CredentialCache,
  credentialCachePath,
  readCredentialCacheSoon,
} from './credential-cache.ts';
import { assertHome } from './kubeconfig/kubeconfig-source.ts';
import { type Heir, renewalLock, siblings } from './refresh-token-lineage.ts';
import { readStored, type StoredCredential, storeLock, storePath } from './root-store.ts';
import { BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { asRoot, asUser } from '../system/as-user.ts';
import { writeAtomically, writeError } from '../system/atomic-file.ts';
import { makeBelow } from '../system/make-below.ts';
import { takeLock } from '../system/owner-lock.ts';
import {
  type CredentialDeps,
  prepareCredentials,
  type PreparedCredentials,
} from './credential-files.ts';
import { type LoginTokens, originOf } from './renewable-token.ts';

export interface WriteDeps extends Omit<CredentialDeps, 'stored' | 'cached' | 'heirs' | 'keep'> {
  readonly stateDir: string;
  /** How long to wait for another hook or the broker, in milliseconds. */
  readonly lockWaitMs: number;
}

const foreignStaleMs = 60_000;

/**
 * Prepares a user's credential for one cluster and writes it: root's part to the state folder, the
 * user's to the home, as the user. The kubeconfig is the caller's, with what this returns.
 *
 * Whatever uses a refresh token or root's store does so under root's lock for this user and cluster,
 * so that of several hooks at once, and the broker, only one does. The tokens of a fresh login to a
 * public client need neither.
 *
 * @throws {BerthError} `lock-timeout`, what `prepareCredentials` throws, and what `writeAtomically`
 *   and `readPrivateFile` throw.
 */
export async function writeCredentials(
  user: User,
  cluster: ClusterSettings,
  tokens: LoginTokens,
  deps: WriteDeps,
): Promise<PreparedCredentials> {
  if (cluster.credentials.mode === 'none') return { needsBroker: false, warnings: [] };
  const store = storePath(deps.stateDir, user.uid, cluster.name);
  const file = join(user.home, credentialCachePath(cluster.server.endpoint));
  const input = { user, cluster, tokens, store, file };
  if (isPublicClient(cluster)) {
    try {
      return await prepareAndApply(input, undefined, { ...deps, mayRefresh: false });
    } catch (thrown) {
      if (!(thrown instanceof BerthError) || thrown.code !== 'refresh-needed') throw thrown;
    }
  }
  const lockFile = storeLock(store, spentAtLogin(cluster, tokens));
  return await oneByOne(lockFile, async () => {
    const lock = await asRoot(() =>
      takeLock(lockFile, { waitMs: deps.lockWaitMs, foreignStaleMs }),
    );
    try {
      const { stored, others } = await asRoot(async () => ({
        stored: readStored(store),
        others: (await siblings(store)).map((path) => readStored(path) ?? {}),
      }));
      const heirs = renewsItself(cluster) ? [...others, ...(await usersHeirs(file, user))] : others;
      return await prepareAndApply(input, stored, { ...deps, heirs });
    } finally {
      await asRoot(() => lock?.release());
    }
  });
}

/** Which refresh token a login may use up. */
function spentAtLogin(
  { credentials }: ClusterSettings,
  { refreshToken = '' }: LoginTokens,
): Pick<StoredCredential, 'own' | 'origin'> {
  if (credentials.mode === 'oidc' && credentials.ownRefreshToken === true) return { own: true };
  const spends = credentials.mode !== 'service-account' && refreshToken !== '';
  return spends ? { origin: originOf(refreshToken) } : {};
}

/** By lock: the last work of this process that wants it. */
const queues = new Map<string, Promise<unknown>>();

/** A lock is waited for in root's turn, which its holder needs to go on: so not while that is ourselves. */
function oneByOne<T>(lockFile: string, work: () => Promise<T>): Promise<T> {
  const run = (queues.get(lockFile) ?? Promise.resolve()).then(work);
  queues.set(
    lockFile,
    run.catch(() => undefined),
  );
  return run;
}

function isPublicClient({ credentials }: ClusterSettings): boolean {
  return (
    credentials.mode === 'oidc' && credentials.clientSecret === undefined && !credentials.exchange
  );
}

/** Only then does what is in a user's file count: with root's secret, no token of a user's word is used. */
function renewsItself({ credentials }: ClusterSettings): boolean {
  return credentials.mode === 'oidc' && credentials.clientSecret === undefined;
}

async function prepareAndApply(
  {
    user,
    cluster,
    tokens,
    store,
    file,
  }: {
    readonly user: User;
    readonly cluster: ClusterSettings;
    readonly tokens: LoginTokens;
    readonly store: string;
    readonly file: string;
  },
  stored: StoredCredential | undefined,
  deps: WriteDeps & { readonly mayRefresh?: boolean; readonly heirs?: readonly Partial<Heir>[] },
): Promise<PreparedCredentials> {
  const cached = await asUser(user, () => readUsersFile(file, user));
  const prepared = await prepareCredentials(user, cluster, tokens, {
    ...deps,
    ...(stored?.username === user.name && { stored }),
    ...(cached && renewsItself(cluster) && { cached }),
    keep: async (next) => {
      await writeStore(store, { version: 1, username: user.name, token: '', expiry: 0, ...next });
    },
  });
  await applyCredentials(user, store, prepared, { stored, cached });
  return prepared;
}

/**
 * Writes what was prepared, root's part first: it is what a crash must not lose. What is there
 * already is not written again: each write waits for the disk.
 */
async function applyCredentials(
  user: User,
  store: string,
  { rootStore, cacheFile }: PreparedCredentials,
  before: { stored: StoredCredential | undefined; cached: CredentialCache | undefined },
): Promise<void> {
  if (rootStore !== undefined && !same(rootStore, before.stored))
    await writeStore(store, rootStore);
  if (cacheFile === undefined || same(cacheFile.contents, before.cached)) return;
  const path = join(user.home, cacheFile.path);
  await asUser(user, async () => {
    await makeFolder(user, dirname(path));
    const { contents } = cacheFile;
    // While a kubectl renews the same login, its result may be the newer one: wait, look again.
    const lock = sameLogin(before.cached, contents)
      ? await takeLock(renewalLock(path, originIn(contents)), { waitMs: 2_000, foreignStaleMs })
      : undefined;
    try {
      if (!renewedMeanwhile(await readUsersFile(path, user), contents)) {
        await writeAtomically(path, JSON.stringify(contents), {
          mode: 0o600,
          replaceable: isPortals(contents),
        });
      }
    } finally {
      await lock?.release();
    }
  });
}

/** A home that is not there is named as such, and any other failure with its path. */
async function makeFolder(user: User, folder: string): Promise<void> {
  try {
    await makeBelow(user.home, folder);
    await chmod(folder, 0o700);
  } catch (cause) {
    await assertHome(user);
    throw writeError(folder, cause);
  }
}

function same(next: object, current: object | undefined): boolean {
  return JSON.stringify(next) === JSON.stringify(current);
}

/** True when both hold a refresh token of the same login, where one may be the other's heir. */
function sameLogin(current: CredentialCache | undefined, next: CredentialCache): boolean {
  return (
    current?.refresh?.by === 'plugin' &&
    next.refresh?.by === 'plugin' &&
    current.refresh.origin === next.refresh.origin
  );
}

/** True where the portal has all of it: a refresh token that replaced the portal's is nowhere else. */
function isPortals({ refresh }: CredentialCache): boolean {
  return refresh?.by !== 'plugin' || refresh.turn === undefined;
}

/** True when the file's refresh token descends from the same login and was had after ours. */
function renewedMeanwhile(current: CredentialCache | undefined, next: CredentialCache): boolean {
  return (
    sameLogin(current, next) &&
    refreshTokenOf(current) !== refreshTokenOf(next) &&
    (current?.expiry ?? 0) > next.expiry
  );
}

function originIn({ refresh }: CredentialCache): string | undefined {
  return refresh?.by === 'plugin' ? refresh.origin : undefined;
}

/** What the user's kubectl renewed for other clusters. */
function usersHeirs(path: string, user: User): Promise<Partial<Heir>[]> {
  return asUser(user, async () => {
    const heirs: Partial<Heir>[] = [];
    // One after the other: each may be as large as a credential's file can be.
    for (const file of await siblings(path)) {
      const refresh = (await readUsersFile(file, user))?.refresh;
      if (refresh?.by === 'plugin') heirs.push(refresh);
    }
    return heirs;
  });
}

function refreshTokenOf(cache: CredentialCache | undefined): string | undefined {
  return cache?.refresh?.by === 'plugin' ? cache.refresh.refreshToken : undefined;
}

/** What is wrong with the user's file is no reason against a new one. */
async function readUsersFile(path: string, user: User): Promise<CredentialCache | undefined> {
  try {
    return await readCredentialCacheSoon(path, user.uid);
  } catch (error) {
    if (error instanceof BerthError) return undefined;
    throw error;
  }
}

async function writeStore(path: string, stored: StoredCredential): Promise<void> {
  await asRoot(async () => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeAtomically(path, JSON.stringify(stored), { mode: 0o600 });
  });
}
