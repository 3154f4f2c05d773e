import type { ClusterSettings } from '../config/settings.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import { lookupUser } from '../identity/nss.ts';
import type { Logger } from '../log.ts';
import type { ReconcileResult } from '../reconcile/reconcile-user.ts';
import { asRoot } from '../system/as-user.ts';
import { type Deadline, deadlineIn } from '../system/deadline.ts';
import { readingOnce, type AccessDeps } from '../clusters/admin-access.ts';
import { bootstrapUser } from '../clusters/bootstrap-user.ts';
import { giveCredentials, type GivenCredentials } from './issue-credentials.ts';
import { beforeDeadline, type ClusterOutcome } from '../clusters/each-cluster.ts';
import { loadSettings, type SettingsFiles } from '../settings/load-site.ts';
import { readLoginRecord, writeLoginRecord, type LoginRecord } from '../clusters/login-record.ts';
import { mintUserToken } from '../clusters/user-token.ts';
import {
  claimSilentClusters,
  clustersDue,
  clustersSkipped,
  clustersToSkip,
  readSilentClusters,
  rememberSilentClusters,
  type SilentClusters,
} from './cluster-backoff.ts';
import type { LoginTokens } from '../credentials/renewable-token.ts';

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
  const names = settings.clusters.map(({ name }) => name);
  const silent: SilentClusters =
    names.length > 1 ? readSilentClusters(settings.stateDir) : new Map<string, number>();
  const skipped = clustersToSkip(silent, names, input.now());
  const asked = settings.clusters.filter(({ name }) => !skipped.has(name));
  const reached = new Set<string>();
  const connected = new Map(asked.map((cluster) => [cluster, Promise.withResolvers<boolean>()]));
  const due = input.parts.bootstrap ? clustersDue(silent, names, input.now()) : [];
  if (due.length > 0)
    await keep('which clusters are asked', { log, deadline }, () =>
      claimSilentClusters(settings.stateDir, silent, due, input.now()),
    );
  const bootstraps = input.parts.bootstrap
    ? bootstrapUser({
        user,
        clusters: asked,
        now: input.now(),
        known: record.clusters,
        deadline,
        access,
        log,
        onConnected: (cluster) => {
          reached.add(cluster.name);
          connected.get(cluster)?.resolve(true);
        },
      })
    : [];
  const bootstrapOf = (
    cluster: ClusterSettings,
  ): Promise<ClusterOutcome<ReconcileResult>> | undefined => bootstraps[asked.indexOf(cluster)];
  // The connections are on their way first: what comes now is done while the servers work.
  await new Promise(setImmediate);
  const [bootstrapped, given] = await Promise.all([
    Promise.all(bootstraps),
    input.parts.credentials
      ? giveCredentials({
          user,
          settings,
          tokens: input.tokens,
          knownDigests: record.kubeconfigs ?? {},
          reached: async (cluster) => {
            const { name, credentials } = cluster;
            // Such a token is made by the cluster.
            if (skipped.has(name) && credentials.mode === 'service-account') return false;
            if (!input.parts.bootstrap || record.clusters.includes(name)) return true;
            const made = bootstrapOf(cluster)?.then(({ result }) => result !== undefined) ?? false;
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
      : noCredentials,
  ]);
  for (const outcome of bootstrapped) logBootstrap(log, outcome);
  const missed = settings.clusters.filter(
    ({ name, credentials }) =>
      skipped.has(name) && (input.parts.bootstrap || credentials.mode === 'service-account'),
  );
  const notAsked = missed.length === 0 ? [] : [clustersSkipped(missed.map(({ name }) => name))];
  for (const error of notAsked) log.error(error);
  const errors = new Map(
    bootstrapped.flatMap(({ cluster, error }) => (error ? [[cluster.name, error]] : [])),
  );
  if (errors.size > 0 || silent.size > 0)
    await keep('which clusters are away', { log, deadline }, () =>
      rememberSilentClusters(
        settings.stateDir,
        { configured: names, reached, errors },
        input.now(),
      ),
    );
  const made = bootstrapped.flatMap(({ cluster, result }) => (result ? [cluster.name] : []));
  const next = nextRecord(record, made, given);
  if (JSON.stringify(next) !== JSON.stringify(record))
    await keep('the login', { log, deadline }, () =>
      writeLoginRecord(settings.stateDir, user.name, next),
    );
  return [...broken.map(({ error }) => error), ...errors.values(), ...notAsked, ...given.errors][0];
}

const noCredentials: GivenCredentials = { errors: [] };

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

function nextRecord(
  before: LoginRecord,
  made: readonly string[],
  { kubeconfigs = before.kubeconfigs }: Pick<LoginRecord, 'kubeconfigs'>,
): LoginRecord {
  return {
    clusters: [...new Set([...before.clusters, ...made])].sort(),
    ...(kubeconfigs === undefined ? {} : { kubeconfigs }),
  };
}

/** Writes what only makes the next login faster: where that fails, a warning is all. */
async function keep(
  what: string,
  { log, deadline }: { readonly log: Logger; readonly deadline: Deadline },
  write: () => void,
): Promise<void> {
  try {
    // Root's turn does not come while a home hangs.
    await beforeDeadline(asRoot(write), deadline);
  } catch (thrown) {
    const error = asBerthError(thrown, `remembering ${what}`);
    log.warning(error.message, { code: error.code });
  }
}
