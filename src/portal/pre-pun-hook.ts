import type { ClusterSettings, SiteSettings } from '../config/schema/settings.ts';
import type { BrokenCluster } from '../config/schema/site-file-contents.ts';
import { cachingReader, type HookAccessDeps } from '../clusters/access/hook-access.ts';
import { bootstrapUser, type RunningBootstrap } from '../clusters/access/bootstrap-user.ts';
import { beforeDeadline, type ClusterOutcome } from '../clusters/access/for-each-cluster.ts';
import {
  readLoginRecord,
  writeLoginRecord,
  type LoginRecord,
} from '../clusters/access/login-record.ts';
import { issueUserToken } from '../clusters/access/issue-user-token.ts';
import { inHome } from '../credentials/root-in-home.ts';
import type { OnDemandTokens } from '../credentials/renewable-token.ts';
import { asBerthError, type BerthError } from '../system/errors/berth-error.ts';
import { lookupUser, type User } from '../system/identity/nss.ts';
import type { Logger } from '../log.ts';
import type { ReconcileResult } from '../kube/reconcile-user.ts';
import { loadSiteSettings, type SiteSettingsFiles } from '../config/load/load-site-settings.ts';
import { asRoot } from '../system/as-user.ts';
import { type Deadline, deadlineIn } from '../system/deadline.ts';
import {
  claimRetry,
  type ClusterBackoff,
  clustersToRetry,
  skippedClustersError,
  clustersToSkip,
  readBackoff,
  recordBackoff,
} from './cluster-backoff.ts';
import { issueCredentials, type IssuedCredentials, type IssueInput } from './issue-credentials.ts';

export interface HookInput {
  readonly username: string;
  readonly files: SiteSettingsFiles;
  /** Which of the hook's two jobs to do: OSC has a script for each. */
  readonly parts: { readonly bootstrap: boolean; readonly credentials: boolean };
  readonly tokens: OnDemandTokens;
  /** ID of this login, which its requests and its credentials have. */
  readonly session: string;
  readonly log: Logger;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/**
 * OnDemand's pre-PUN hook: creates the user's namespace on every cluster and writes credentials for the
 * user's kubectl. An error is logged where it happens and affects only its own cluster or file.
 *
 * @returns the first error, for the exit code, and how long the phases took
 * @throws {BerthError} if the site's configuration is invalid or the account is unknown
 */
export async function prePunHook(
  input: HookInput,
): Promise<HookPhases & { readonly error: BerthError | undefined }> {
  const start = performance.now();
  const hook = await readSettingsAndUser(input);
  const configured = performance.now();
  const choice = await chooseClusters(hook);
  const bootstraps = startBootstraps(hook, choice);
  // The connections are being opened; what follows is done while the servers answer.
  await new Promise(setImmediate);
  const credentials = await writeCredentials(hook, choice, bootstraps);
  const issued = performance.now();
  const error = await recordAndReport(hook, choice, bootstraps, credentials);
  return {
    error,
    configuration_ms: Math.round(configured - start),
    credentials_ms: Math.round(issued - configured),
    clusters_ms: Math.round(performance.now() - issued),
  };
}

/** Milliseconds, as in the log. The clusters answer while credentials are made; their phase is the wait after that. */
export interface HookPhases {
  readonly configuration_ms: number;
  readonly credentials_ms: number;
  readonly clusters_ms: number;
}

interface Hook extends Omit<HookInput, 'files' | 'username'> {
  readonly settings: SiteSettings;
  readonly broken: readonly BrokenCluster[];
  readonly user: User;
  readonly deadline: Deadline;
  /** What the last hook of this user recorded. */
  readonly record: LoginRecord;
  readonly access: HookAccessDeps & { readonly read: (file: string) => string };
}

async function readSettingsAndUser({ username, files, ...input }: HookInput): Promise<Hook> {
  const { settings, broken } = await loadSiteSettings(files);
  const log = input.log.with({ user: username, session: input.session });
  for (const { message, ...fields } of settings.warnings) log.warning(message, fields);
  for (const { cluster, error } of broken) log.error(error, { cluster });

  const user = lookupUser(username, settings);
  const deadline = deadlineIn(settings.deadlineMs);
  const { stateDir, clusters } = settings;
  const access = {
    stateDir,
    remember: true,
    documents: new Map(),
    read: cachingReader(),
    deadline: deadline.signal,
    clusterCount: clusters.length,
    session: input.session,
  };
  const record = readLoginRecord(stateDir, user.name);
  return { ...input, log, settings, broken, user, deadline, record, access };
}

interface ClusterChoice {
  readonly contacted: readonly ClusterSettings[];
  /** Names of the clusters that a recent hook could not reach; this one does not try. */
  readonly skipped: ReadonlySet<string>;
  readonly backoff: ClusterBackoff;
}

async function chooseClusters(hook: Hook): Promise<ClusterChoice> {
  const { stateDir, clusters } = hook.settings;
  const names = clusters.map(({ name }) => name);
  const backoff: ClusterBackoff =
    names.length > 1 ? readBackoff(stateDir) : new Map<string, number>();
  const skipped = clustersToSkip(backoff, names, hook.now());
  const due = hook.parts.bootstrap ? clustersToRetry(backoff, names, hook.now()) : [];
  if (due.length > 0)
    await keep(hook, 'the clusters that this hook contacts', () =>
      claimRetry(stateDir, backoff, due, hook.now()),
    );
  return { contacted: clusters.filter(({ name }) => !skipped.has(name)), skipped, backoff };
}

/** The bootstraps that run, by the names of their clusters. */
type Bootstraps = ReadonlyMap<string, RunningBootstrap>;

function startBootstraps(hook: Hook, { contacted }: ClusterChoice): Bootstraps {
  if (!hook.parts.bootstrap) return new Map();
  const input = { ...hook, now: hook.now(), known: hook.record.clusters };
  return new Map(contacted.map((cluster) => [cluster.name, bootstrapUser(cluster, input)]));
}

async function writeCredentials(
  hook: Hook,
  { skipped }: ClusterChoice,
  bootstraps: Bootstraps,
): Promise<IssuedCredentials> {
  if (!hook.parts.credentials) return { errors: [] };
  const { user, deadline, log } = hook;
  const input: IssueInput = {
    ...hook,
    read: hook.access.read,
    isReachable: async ({ name, credentials }) => {
      // The cluster itself issues such a token.
      if (skipped.has(name) && credentials.mode === 'service-account') return false;
      if (!hook.parts.bootstrap || hook.record.clusters.includes(name)) return true;
      return (await bootstraps.get(name)?.connected) ?? false;
    },
    mintToken: async (cluster) => {
      // The bootstrap creates the ServiceAccount, and checks whose namespace it is.
      const bootstrap = await bootstraps.get(cluster.name)?.outcome;
      const owned = bootstrap?.result !== undefined;
      return issueUserToken(cluster, user, { ...hook.access, owned });
    },
  };
  try {
    return await inHome(user, deadline, () => issueCredentials(input));
  } catch (thrown) {
    const error = asBerthError(thrown, `the credentials of ${user.name}`);
    log.error(error);
    return { errors: [error] };
  }
}

/** Logs the outcomes, and records for the next hook what this one has learned. */
async function recordAndReport(
  hook: Hook,
  { skipped, backoff }: ClusterChoice,
  bootstraps: Bootstraps,
  { errors: credentialErrors, kubeconfigs = hook.record.kubeconfigs }: IssuedCredentials,
): Promise<BerthError | undefined> {
  const { settings, parts, record, log } = hook;
  const { stateDir, clusters } = settings;
  const errors = new Map<string, BerthError>();
  const seen = new Set(record.clusters);
  const reached = new Set<string>();
  for (const [name, { connected, outcome }] of bootstraps) {
    const done = await outcome;
    logBootstrap(log, done);
    if (await connected) reached.add(name);
    if (done.error !== undefined) errors.set(name, done.error);
    if (done.result !== undefined) seen.add(name);
  }
  const missed = clusters.filter(
    ({ name, credentials }) =>
      skipped.has(name) && (parts.bootstrap || credentials.mode === 'service-account'),
  );
  const skip = missed.length === 0 ? [] : [skippedClustersError(missed.map(({ name }) => name))];
  for (const error of skip) log.error(error);

  if (errors.size > 0 || backoff.size > 0)
    await keep(hook, 'which clusters are unreachable', () => {
      const configured = clusters.map(({ name }) => name);
      recordBackoff(stateDir, { configured, reached, errors }, hook.now());
    });
  const next = { clusters: [...seen].sort(), kubeconfigs };
  if (JSON.stringify(next) !== JSON.stringify(record))
    await keep(hook, 'the record of this login', () =>
      writeLoginRecord(stateDir, hook.user.name, next),
    );
  return [
    ...hook.broken.map(({ error }) => error),
    ...errors.values(),
    ...skip,
    ...credentialErrors,
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
  log.info(`namespace ${result.namespace}` as const, {
    ...fields,
    ...(repaired && { repaired: result.applied.join(', ') }),
  });
}

/** Writes what only makes the next hook faster: a failure is a warning. */
async function keep({ log, deadline }: Hook, what: string, write: () => void): Promise<void> {
  try {
    // `asRoot` waits while a file system with homes hangs.
    await beforeDeadline(asRoot(write), deadline);
  } catch (thrown) {
    const { message, code } = asBerthError(thrown, `recording ${what}`);
    log.warning(message, { code });
  }
}
