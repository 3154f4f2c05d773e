import { existsSync } from 'node:fs';
import {
  beforeDeadline,
  type ClusterOutcome,
  forEachCluster,
} from '../clusters/access/for-each-cluster.ts';
import type { LoginRecord } from '../clusters/access/login-record.ts';
import type { ClusterSettings, SiteSettings } from '../config/schema/settings.ts';
import { brokerSocket, brokerSocketUnit } from '../credentials/broker-protocol.ts';
import { clusterCredential, type MintToken } from '../credentials/cluster-credential.ts';
import { type CredentialFiles, noCredentialFiles } from '../credentials/credential-files.ts';
import {
  groupByKubeconfig,
  type KubeconfigEntries,
  wantedKubeconfigEntries,
} from '../credentials/kubeconfig/kubeconfig-entries.ts';
import { updateKubeconfig } from '../credentials/kubeconfig/update-kubeconfig.ts';
import type { OnDemandTokens } from '../credentials/renewable-token.ts';
import { removeFormerOwners } from '../credentials/root-credential-store.ts';
import { asBerthError, BerthError } from '../system/errors/berth-error.ts';
import type { User } from '../system/identity/nss.ts';
import { installedPath } from '../system/program/installed-path.ts';
import type { Logger } from '../log.ts';
import { asRoot } from '../system/as-user.ts';
import type { Deadline } from '../system/deadline.ts';
import { openIssuers } from './open-issuers.ts';

const systemctl = '/usr/bin/systemctl';
/** Time limit for systemctl, in milliseconds. */
const startMs = 3_000;

export interface IssueInput {
  readonly user: User;
  readonly settings: SiteSettings;
  readonly tokens: OnDemandTokens;
  /**
   * False for a cluster that has never answered: its credential would be of no use, and with many
   * such clusters it would be most of the hook's work.
   */
  readonly isReachable: (cluster: ClusterSettings) => Promise<boolean>;
  /** Waits until the user's ServiceAccount exists. */
  readonly mintToken: MintToken;
  /** What the last hook recorded: with its digests an unchanged kubeconfig is not parsed. */
  readonly record: LoginRecord;
  /** Reads a trusted file as root. */
  readonly read: (file: string) => string;
  readonly deadline: Deadline;
  /** ID of this login. */
  readonly session: string;
  readonly log: Logger;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

export interface IssuedCredentials {
  readonly errors: readonly BerthError[];
  /** For the next `LoginRecord`; absent if no kubeconfig is Berth's to write. */
  readonly kubeconfigs?: LoginRecord['kubeconfigs'];
}

/**
 * Writes a verified credential for every cluster that wants one, and the kubeconfigs that refer to
 * them. An error at one cluster is logged and concerns that cluster's credential only.
 */
export async function issueCredentials(input: IssueInput): Promise<IssuedCredentials> {
  const { user, settings, deadline, log } = input;
  const clusters = settings.clusters.filter(({ credentials }) => credentials.mode !== 'none');
  const { renewed, ...provider } = await openIssuers(clusters, settings.stateDir, input);
  await removeFormerOwner(input);
  const deps = {
    ...provider,
    kubeCredentialCommand: settings.kubeCredentialCommand,
    stateDir: settings.stateDir,
    mintToken: input.mintToken,
    lockWaitMs: deadline.remaining(),
    session: input.session,
  };
  const outcomes = await Promise.all(
    forEachCluster(clusters, deadline, async (cluster) =>
      (await input.isReachable(cluster))
        ? clusterCredential(user, cluster, input.tokens, deps)
        : noCredentialFiles,
    ),
  );
  for (const outcome of outcomes) report(outcome, log);
  if (outcomes.some(({ result }) => result?.needsBroker)) await startBroker(input);
  const { errors, kubeconfigs } = await writeKubeconfigs(input, outcomes);
  await beforeDeadline(renewed(), deadline).catch((thrown: unknown) => {
    errors.push(logged(thrown, input));
  });
  return {
    errors: [...outcomes.flatMap(({ error }) => error ?? []), ...errors],
    kubeconfigs,
  };
}

/** Writes the user's kubeconfigs one after the other. */
async function writeKubeconfigs(
  input: IssueInput,
  outcomes: readonly ClusterOutcome<CredentialFiles>[],
): Promise<{ readonly errors: BerthError[]; readonly kubeconfigs?: Record<string, string> }> {
  const { user, record } = input;
  const written = outcomes.flatMap(({ cluster, result }) =>
    result?.kubeconfigUser === undefined
      ? []
      : [{ cluster, entries: wantedKubeconfigEntries(cluster, user.name, result.kubeconfigUser) }],
  );
  const errors: BerthError[] = [];
  if (written.length === 0) return { errors };
  const kubeconfigs = { ...record.kubeconfigs };
  for (const [file, its] of groupByKubeconfig(written)) {
    try {
      const entries = its.map(({ entries }) => entries);
      kubeconfigs[file] = await writeKubeconfig(input, file, entries);
    } catch (thrown) {
      errors.push(logged(thrown, input));
    }
  }
  return { errors, kubeconfigs };
}

/** @returns the digest for the next `LoginRecord` */
async function writeKubeconfig(
  { user, deadline, log, record }: IssueInput,
  file: string,
  entries: readonly KubeconfigEntries[],
): Promise<string> {
  const knownDigest = record.kubeconfigs?.[file];
  const update = await beforeDeadline(
    updateKubeconfig(user, entries, {
      deadline,
      log,
      file,
      knownDigest,
    }),
    deadline,
  );
  if (update.changed) log.info('kubeconfig written');
  return update.digest;
}

function logged(thrown: unknown, { user, log }: IssueInput): BerthError {
  const error = asBerthError(thrown, `the kubeconfig of ${user.name}`);
  log.error(error);
  return error;
}

function report(
  { cluster, result, error, took }: ClusterOutcome<CredentialFiles>,
  log: Logger,
): void {
  const fields = { cluster: cluster.name, took_ms: took };
  if (error !== undefined) log.error(error, fields);
  for (const { code, message } of result?.warnings ?? []) log.warning(message, { ...fields, code });
}

/** The UID may have belonged to another account before. */
async function removeFormerOwner({ user, settings, log }: IssueInput): Promise<void> {
  try {
    await asRoot(() => removeFormerOwners(settings.stateDir, user.uid, user.name));
  } catch (thrown) {
    log.error(
      asBerthError(
        thrown,
        `removing stored credentials of a previous account with UID ${user.uid}`,
      ),
    );
  }
}

async function startBroker({ user, log, deadline }: IssueInput): Promise<void> {
  try {
    await beforeDeadline(
      asRoot(() => openBrokerSocket(user.uid, deadline.signal)),
      deadline,
    );
  } catch (thrown) {
    const { message, code, hint } = asBerthError(thrown, 'starting the broker’s socket');
    log.warning(message, { code, hint });
  }
}

/**
 * Starts `berth-broker@UID.socket`, unless the socket exists.
 *
 * @throws {BerthError} `broker-no-systemd`, `broker-not-started`. The caller warns and goes on, because the
 *   credential works until its token expires.
 */
async function openBrokerSocket(uid: number, signal: AbortSignal): Promise<void> {
  if (existsSync(brokerSocket(uid))) return;
  // sd_booted(3)
  if (!existsSync('/run/systemd/system')) {
    throw new BerthError(
      'broker-no-systemd',
      'credentials cannot be renewed: the broker needs systemd, which is not running on this host',
    );
  }
  const { runProgram } = await import('../system/run-program.ts');
  const unit = brokerSocketUnit(uid);
  const options = { timeoutMs: startMs, signal };
  const { error: cause } = await runProgram(systemctl, ['start', '--no-block', unit], options);
  if (cause !== undefined)
    throw new BerthError('broker-not-started', `${unit} could not be started`, {
      hint: `Install the units of ${installedPath('share/etc/systemd')}, then run: systemctl status ${unit}`,
      cause,
    });
}
