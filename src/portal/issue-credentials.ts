import type {
  ClusterSettings,
  CredentialSettings,
  OidcSettings,
  SiteSettings,
} from '../config/settings.ts';
import { ensureBroker } from './open-broker-socket.ts';
import type { KubeconfigEntries } from '../credentials/kubeconfig/kubeconfig-entries.ts';
import { updateKubeconfig } from '../credentials/kubeconfig/kubeconfig-file.ts';
import { forgetFormer } from '../credentials/root-store.ts';
import { openIssuer, type Issuer } from '../credentials/oidc/issuer.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import type { Logger } from '../log.ts';
import { asOurselves, asRoot } from '../system/as-user.ts';
import type { Deadline } from '../system/deadline.ts';
import { httpsRequest } from '../system/https-request.ts';
import { byKubeconfig, kubeconfigEntries } from '../credentials/desired-kubeconfig.ts';
import { beforeDeadline, eachCluster, type ClusterOutcome } from '../clusters/each-cluster.ts';
import type { MintToken, PreparedCredentials } from '../credentials/credential-files.ts';
import type { LoginTokens } from '../credentials/renewable-token.ts';
import { writeCredentials, type WriteDeps } from '../credentials/cluster-credential.ts';

export interface GiveInput {
  readonly user: User;
  readonly settings: SiteSettings;
  readonly tokens: LoginTokens;
  /**
   * False for a cluster that has never answered: its credential would be of no use, and with many
   * such clusters it would be most of a login's cost.
   */
  readonly reached: (cluster: ClusterSettings) => Promise<boolean>;
  /** Of the kubeconfigs as the last login left them, by their files. */
  readonly knownDigests: Readonly<Record<string, string>>;
  /** A token of the user's ServiceAccount; waits until the account is there. */
  readonly mintToken: MintToken;
  readonly readCa: (file: string) => string;
  readonly deadline: Deadline;
  readonly log: Logger;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

export interface GivenCredentials {
  readonly errors: readonly BerthError[];
  /** For the next login: `knownDigests`; absent where no kubeconfig is ours. */
  readonly kubeconfigs?: Readonly<Record<string, string>>;
}

/** Milliseconds for one request to an issuer. */
const issuerTimeoutMs = 5_000;

/**
 * Verified credentials for every cluster that wants them, and the kubeconfigs that lead kubectl to
 * them. What goes wrong with one cluster is logged and costs that cluster's credential only.
 */
export async function giveCredentials(input: GiveInput): Promise<GivenCredentials> {
  const { user, settings, deadline, log } = input;
  const clusters = settings.clusters.filter(({ credentials }) => credentials.mode !== 'none');
  const readCa = await certificates(clusters, input.readCa);
  const issuers = rememberedIssuers({ ...input, readCa });
  const deps: WriteDeps = {
    kubeCredentialCommand: settings.kubeCredentialCommand,
    stateDir: settings.stateDir,
    https: httpsRequest,
    issuer: issuers.open,
    readCa,
    mintToken: input.mintToken,
    now: input.now,
    timeoutMs: issuerTimeoutMs,
    lockWaitMs: deadline.remaining(),
    signal: deadline.signal,
  };
  issuers.begin(clusters);
  await forgetFormerPerson(input);
  const outcomes = await Promise.all(
    eachCluster(clusters, deadline, async (cluster) =>
      (await input.reached(cluster))
        ? writeCredentials(user, cluster, input.tokens, deps)
        : { needsBroker: false, warnings: [] },
    ),
  );
  for (const outcome of outcomes) report(outcome, log);
  const errors = outcomes.flatMap(({ error }) => error ?? []);
  const files = byKubeconfig(outcomes.filter((outcome) => entriesOf(outcome, user).length > 0));
  const failed = (thrown: unknown): void => {
    const error = asBerthError(thrown, `the kubeconfig of ${user.name}`);
    log.error(error);
    errors.push(error);
  };
  if (outcomes.some(({ result }) => result?.needsBroker)) await openBroker(input);
  const kubeconfigs = { ...input.knownDigests };
  for (const [file, its] of files) {
    try {
      const entries = its.flatMap((outcome) => entriesOf(outcome, user));
      kubeconfigs[file] = await writeKubeconfig(input, file, entries);
    } catch (thrown) {
      failed(thrown);
    }
  }
  await beforeDeadline(issuers.renewed(), deadline).catch(failed);
  return { errors, ...(files.size === 0 ? {} : { kubeconfigs }) };
}

async function writeKubeconfig(
  { user, deadline, log, knownDigests }: GiveInput,
  file: string,
  entries: readonly KubeconfigEntries[],
): Promise<string> {
  const knownDigest = knownDigests[file];
  const update = await beforeDeadline(
    updateKubeconfig(user, entries, {
      deadline,
      log,
      file,
      ...(knownDigest === undefined ? {} : { knownDigest }),
    }),
    deadline,
  );
  if (update.changed) log.info('kubeconfig written');
  return update.digest;
}

function entriesOf(
  { cluster, result }: ClusterOutcome<PreparedCredentials>,
  user: User,
): KubeconfigEntries[] {
  return result?.kubeconfigUser === undefined
    ? []
    : [kubeconfigEntries(cluster, user.name, result.kubeconfigUser)];
}

function report(
  { cluster, result, error, took }: ClusterOutcome<PreparedCredentials>,
  log: Logger,
): void {
  const fields = { cluster: cluster.name, took_ms: took };
  if (error !== undefined) log.error(error, fields);
  for (const { code, message } of result?.warnings ?? []) log.warning(message, { ...fields, code });
}

/** The UID may be one that somebody else had. */
async function forgetFormerPerson({ user, settings, log }: GiveInput): Promise<void> {
  try {
    await asRoot(() => forgetFormer(settings.stateDir, user.uid, user.name));
  } catch (thrown) {
    log.error(
      asBerthError(thrown, `removing stored credentials of a former owner of UID ${user.uid}`),
    );
  }
}

async function openBroker({ user, log, deadline }: GiveInput): Promise<void> {
  try {
    await beforeDeadline(
      asRoot(() => ensureBroker(user.uid, { signal: deadline.signal })),
      deadline,
    );
  } catch (thrown) {
    const { message, code, hint } = asBerthError(thrown, 'opening the broker');
    log.warning(message, { code, hint });
  }
}

/** The issuers' CA files, read by root before anything is done as the user. */
async function certificates(
  clusters: readonly ClusterSettings[],
  read: (file: string) => string,
): Promise<(file: string) => string> {
  const files = clusters.flatMap(({ credentials }) => caFile(credentials) ?? []);
  const texts = await asOurselves(() => new Map(files.map((file) => [file, attempt(read, file)])));
  return (file) => {
    const text = texts.get(file);
    if (typeof text === 'string') return text;
    throw asBerthError(text, `reading ${file}`);
  };
}

function caFile(credentials: CredentialSettings): string | undefined {
  if (credentials.mode === 'oidc') return credentials.caFile;
  return credentials.mode === 'legacy' ? credentials.oidc.caFile : undefined;
}

/** The text, or what was thrown: one cluster's missing file is that cluster's error. */
function attempt(read: (file: string) => string, file: string): unknown {
  try {
    return read(file);
  } catch (thrown) {
    return thrown;
  }
}

/** Each issuer is opened once, however many clusters trust it. */
function rememberedIssuers({ settings, readCa, now, deadline, log }: GiveInput): {
  readonly open: (settings: OidcSettings) => Promise<Issuer>;
  /** Opens them in root's turn, before the user's files are looked at. */
  readonly begin: (clusters: readonly ClusterSettings[]) => void;
  readonly renewed: () => Promise<void>;
} {
  const opened = new Map<string, Promise<Issuer>>();
  const open = ({ issuer, caFile }: OidcSettings): Promise<Issuer> => {
    const ca = caFile === undefined ? {} : { ca: readCa(caFile) };
    return openIssuer(
      { issuer, stateDir: settings.stateDir, ...ca },
      { https: httpsRequest, now, timeoutMs: issuerTimeoutMs, signal: deadline.signal },
    );
  };
  const once = (oidc: OidcSettings): Promise<Issuer> => {
    const known = opened.get(oidc.issuer) ?? open(oidc);
    opened.set(oidc.issuer, known);
    return known;
  };
  return {
    open: once,
    begin(clusters) {
      for (const { credentials } of clusters)
        // Whoever needs the issuer meets its error.
        if (credentials.mode === 'oidc') once(credentials).catch(() => undefined);
    },
    async renewed() {
      for (const issuer of await Promise.allSettled(opened.values())) {
        const error = issuer.status === 'fulfilled' ? await issuer.value.renewed : undefined;
        if (error !== undefined) log.warning(error.message, { code: error.code });
      }
    },
  };
}
