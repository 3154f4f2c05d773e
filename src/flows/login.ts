import type { ClusterSettings, SiteSettings } from '../config/settings.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import { lookupUser } from '../identity/nss.ts';
import type { Logger } from '../log.ts';
import type { ReconcileResult } from '../reconcile/reconcile-user.ts';
import { asRoot } from '../system/as-user.ts';
import { type Deadline, deadlineIn } from '../system/deadline.ts';
import { readingOnce, type AccessDeps } from './admin-access.ts';
import { bootstrapUser } from './bootstrap-user.ts';
import { giveCredentials } from './give-credentials.ts';
import { beforeDeadline, type ClusterOutcome } from './each-cluster.ts';
import { loadSettings, type SettingsFiles } from './load-settings.ts';
import { readLoginRecord, writeLoginRecord, type LoginRecord } from './login-record.ts';
import { mintUserToken } from './mint-token.ts';
import type { LoginTokens } from './verified-login.ts';

export interface LoginInput {
  readonly username: string;
  readonly files: SettingsFiles;
  /** Which of the hook's two jobs are wanted: OSC has a script for each. */
  readonly parts: { readonly bootstrap: boolean; readonly credentials: boolean };
  readonly tokens: LoginTokens;
  readonly log: Logger;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/**
 * What OnDemand's pre-PUN hook is for: the user's namespace on every cluster, and credentials in the
 * user's kubeconfig. Everything that goes wrong is logged where it happens and costs its own part
 * only.
 *
 * @returns The first error, for the exit code; nothing where all went well.
 * @throws {BerthError} What concerns the whole site or the user: configuration, an unknown account.
 */
export async function login(input: LoginInput): Promise<BerthError | undefined> {
  const { settings, broken } = await loadSettings(input.files);
  const log = input.log.with({ user: input.username });
  for (const { code, message, file } of settings.warnings) log.warning(message, { code, file });
  for (const { cluster, error } of broken) log.error(error, { cluster });

  const user = lookupUser(input.username, settings);
  const deadline = deadlineIn(settings.deadlineMs);
  const record = readLoginRecord(settings.stateDir, user.name);
  const read = readingOnce();
  const access: AccessDeps = {
    stateDir: settings.stateDir,
    remember: true,
    documents: new Map(),
    read,
    deadline: deadline.signal,
    clusterCount: settings.clusters.length,
  };
  const connected = new Map(
    settings.clusters.map((cluster) => [cluster, Promise.withResolvers<boolean>()]),
  );
  const bootstraps = input.parts.bootstrap
    ? bootstrapUser({
        user,
        settings,
        now: input.now(),
        known: record.clusters,
        deadline,
        access,
        log,
        onConnected: (cluster) => connected.get(cluster)?.resolve(true),
      })
    : [];
  const bootstrapOf = (
    cluster: ClusterSettings,
  ): Promise<ClusterOutcome<ReconcileResult>> | undefined =>
    bootstraps[settings.clusters.indexOf(cluster)];
  // The connections are on their way first: what comes now is done while the servers work.
  await new Promise(setImmediate);
  const [bootstrapped, given] = await Promise.all([
    Promise.all(bootstraps),
    input.parts.credentials
      ? giveCredentials({
          user,
          settings,
          tokens: input.tokens,
          ...(record.kubeconfigDigest === undefined
            ? {}
            : { knownDigest: record.kubeconfigDigest }),
          reached: async (cluster) => {
            const bootstrap = bootstrapOf(cluster);
            if (bootstrap === undefined || record.clusters.includes(cluster.name)) return true;
            const made = bootstrap.then(({ result }) => result !== undefined);
            return Promise.race([made, connected.get(cluster)?.promise ?? made]);
          },
          mintToken: async (cluster) => {
            // The account is among the objects of the bootstrap, which also sees whose it is.
            const made = await bootstrapOf(cluster);
            return mintUserToken(cluster, user, { ...access, owned: made?.result !== undefined });
          },
          readCa: read,
          deadline,
          log,
          now: input.now,
        })
      : { errors: [] },
  ]);
  for (const outcome of bootstrapped) logBootstrap(log, outcome);
  await remember(
    settings,
    record,
    user.name,
    {
      clusters: bootstrapped.flatMap(({ cluster, result }) => (result ? [cluster.name] : [])),
      ...given,
    },
    { log, deadline },
  );
  return [
    ...broken.map(({ error }) => error),
    ...bootstrapped.flatMap(({ error }) => error ?? []),
    ...given.errors,
  ][0];
}

function logBootstrap(
  log: Logger,
  { cluster, result, error, took }: ClusterOutcome<ReconcileResult>,
): void {
  const fields = { cluster: cluster.name, took_ms: took };
  if (error !== undefined) log.error(error, fields);
  if (result === undefined) return;
  const repaired = result.namespace === 'kept' && result.applied.length > 0;
  log.info(`namespace ${result.namespace}`, {
    ...fields,
    ...(repaired ? { repaired: result.applied.join(', ') } : {}),
  });
}

/** Written only when something changed; losing it costs the next login some milliseconds. */
async function remember(
  { stateDir }: SiteSettings,
  before: LoginRecord,
  username: string,
  seen: { readonly clusters: readonly string[]; readonly kubeconfigDigest?: string },
  { log, deadline }: { readonly log: Logger; readonly deadline: Deadline },
): Promise<void> {
  const kubeconfigDigest = seen.kubeconfigDigest ?? before.kubeconfigDigest;
  const next: LoginRecord = {
    clusters: [...new Set([...before.clusters, ...seen.clusters])].sort(),
    ...(kubeconfigDigest === undefined ? {} : { kubeconfigDigest }),
  };
  if (JSON.stringify(next) === JSON.stringify(before)) return;
  try {
    // Root's turn does not come while a home hangs.
    await beforeDeadline(
      asRoot(() => writeLoginRecord(stateDir, username, next)),
      deadline,
    );
  } catch (thrown) {
    const error = asBerthError(thrown, `remembering the login in ${stateDir}`);
    log.warning(error.message, { code: error.code });
  }
}
