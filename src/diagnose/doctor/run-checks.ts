import {
  type ClusterSettings,
  type SiteSettings,
  oidcSettingsOf,
  type SettingsWarning,
} from '../../config/schema/settings.ts';
import { unknownCluster } from '../../config/schema/config-error.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import { inHome } from '../../credentials/root-in-home.ts';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { lookupUser, type User } from '../../system/identity/nss.ts';
import { deadlineIn } from '../../system/deadline.ts';
import type { ConfigOverlay } from '../../config/load/config-overlay.ts';
import { asInstalled } from '../../config/load/config-path.ts';
import { loadSiteSettings, type SiteSettingsFiles } from '../../config/load/load-site-settings.ts';
import {
  type CheckResult,
  failed,
  failedWith,
  type Finding,
  ok,
  skipped,
  warning,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { checkClusterApi } from './cluster-api-check.ts';
import { checkCluster, type CommonReads } from './cluster-checks.ts';
import { checkHost, checkRenderFiles, nodeFinding } from './host-checks.ts';
import { checkIssuer } from './issuer-checks.ts';
import { checkOndemandKeys, checkOndemandPortal, type PortalOfClusters } from './ondemand-keys.ts';
import { checkPortal } from './portal-checks.ts';
import { isOnlySshHost, isSshHost, isWithoutClusters } from './host-roles.ts';
import { checkSsh } from './ssh-checks.ts';
import { accountFinding, checkHome, checkUserTokens } from './user-checks.ts';

export interface DoctorInput {
  readonly files: Omit<SiteSettingsFiles, 'overlay'>;
  /** A configuration to try. */
  readonly overlay?: ConfigOverlay | undefined;
  /** This cluster only. */
  readonly cluster?: string;
  /** `ssh.yml`: if it exists, this host is checked for SSH sessions too. */
  readonly sshConfigFile?: string;
  /** Also check this account. */
  readonly username?: string;
  /** Of the SSH sessions, only this profile and what it needs. */
  readonly profile?: string;
  /** Also start a session of it: path of `berth`. */
  readonly sessionProgram?: string;
  /** Seconds since the epoch. */
  readonly now: number;
  /** For each check, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Runs all checks, those of clusters and issuers at the same time. Never rejects because of a finding:
 * an error is a result like the others.
 *
 * @throws {BerthError} `cluster-unknown`
 */
export async function runDoctor(input: DoctorInput): Promise<CheckResult[]> {
  const { timeoutMs, overlay, sshConfigFile = '/etc/berth/ssh.yml' } = input;
  const at = overlay?.resolve ?? asInstalled;
  const onSshHost = isSshHost(at(sshConfigFile));
  const onlySsh = input.files.configFile === undefined && isOnlySshHost(sshConfigFile, at);
  const files = { ...input.files, overlay: overlay?.resolve };
  let loaded: LoadedSiteSettings | undefined;
  const node = await runCheck('node', () => nodeFinding(process.versions.node), timeoutMs);
  const config = await runCheck(
    'config',
    async () => {
      if (onlySsh) return skipped('this host is for SSH sessions only: there is no Open OnDemand');
      try {
        loaded = await loadSiteSettings(files, { cache: 'off' });
      } catch (error) {
        // A host that only has a berth.yml copied from the example is not a portal host.
        if (isWithoutClusters(error)) return onSshHost ? noClusters : nothingHere;
        throw error;
      }
      return configFinding(loaded, onSshHost);
    },
    timeoutMs,
  );
  if (config.status !== 'failed') assertCluster(input.cluster, loaded);
  let user: User | undefined;
  const account = await accountCheck(input, loaded, (found) => (user = found));
  const ssh = onSshHost
    ? await checkSsh({
        configFile: sshConfigFile,
        timeoutMs,
        clusters: loaded,
        overlay: overlay?.resolve,
        user,
        sessionProgram: input.sessionProgram,
        profile: input.profile,
      })
    : [];
  const others = await checkRenderFiles(at, timeoutMs);
  const first = overlay === undefined ? [] : [overlayResult(overlay)];
  const isOfPods = ssh.some(({ id }) => id === 'ssh-pods');
  if (input.profile !== undefined && !isOfPods) return [node, ...first, ...account, ...ssh];
  if (loaded === undefined)
    return [
      node,
      ...first,
      config,
      ...account,
      ...ssh,
      ...others,
      ...(config.status === 'failed' ? [unread] : []),
    ];

  const known: LoadedSiteSettings = loaded;
  const { settings, broken } = known;
  const chosen = settings.clusters.filter(({ name }) => wanted(input, name));
  const faults = broken
    .filter(({ cluster }) => wanted(input, cluster))
    .map(({ cluster, error }): CheckResult => ({
      id: 'cluster-config',
      cluster,
      ...failedWith(error),
    }));
  const ondemand = checkOndemandPortal(settings.clustersDir, at);
  const shared: SharedChecks = {
    user,
    portal: ondemand.portal,
    issuers: new Map(),
    common: { documents: new Map(), kubectls: new Map() },
  };
  const [host, portal, ...perCluster] = await Promise.all([
    checkHost({ ...settings, clusters: chosen }, timeoutMs),
    checkPortal({ ...settings, clusters: chosen }, timeoutMs),
    ...chosen.map((cluster) => checkOne(cluster, input, known, shared)),
  ]);
  const ofUser = user === undefined ? [] : await checkFilesOf(user, settings, chosen, input);
  return [
    node,
    ...first,
    config,
    ...settings.warnings.map(configWarning),
    ...account,
    ...ssh,
    ...others,
    ...host.filter(({ cluster }) => cluster === undefined),
    ...portal,
    ...ondemand.results,
    ...ofUser.filter(({ cluster }) => cluster === undefined),
    ...faults,
    ...chosen.flatMap(({ name }, index) => [
      ...host.filter(({ cluster }) => cluster === name),
      ...(perCluster[index] ?? []),
      ...ofUser.filter(({ cluster }) => cluster === name),
    ]),
  ];
}

async function checkFilesOf(
  user: User,
  settings: SiteSettings,
  chosen: readonly ClusterSettings[],
  input: DoctorInput,
): Promise<readonly CheckResult[]> {
  const { timeoutMs } = input;
  try {
    return await inHome(user, deadlineIn(timeoutMs), async () => [
      ...(await checkHome(user, settings, timeoutMs)),
      ...(await checkUserTokens(user, chosen, input)),
    ]);
  } catch (thrown) {
    return [{ id: 'user-home', ...failedWith(asBerthError(thrown, 'user-home')) }];
  }
}

function overlayResult({ directory, present }: ConfigOverlay): CheckResult {
  const message = `read from ${directory}: ${present.join(', ')}; all other files are the installed ones`;
  return { id: 'config-dir', ...ok(message) };
}

const unread: CheckResult = {
  id: 'clusters',
  ...skipped('the clusters are not known, because the configuration could not be read'),
};

function wanted({ cluster }: DoctorInput, name: string): boolean {
  return cluster === undefined || cluster === name;
}

/** @throws {BerthError} `cluster-unknown` */
function assertCluster(wanted: string | undefined, loaded: LoadedSiteSettings | undefined): void {
  const names = (loaded?.settings.clusters ?? []).map(({ name }) => name);
  const all = [...names, ...(loaded?.broken ?? []).map(({ cluster }) => cluster)];
  if (wanted !== undefined && !all.includes(wanted)) throw unknownCluster(wanted, all);
}

const nothingHere = warning(
  'nothing of Berth is set up on this host',
  'Run `berth init portal` on the host of Open OnDemand, `berth init login-node` on a login node.',
);

const noClusters = skipped('no Kubernetes cluster is configured: SSH sessions only');

function configFinding({ settings, broken }: LoadedSiteSettings, onSshHost: boolean): Finding {
  const names = settings.clusters.map(({ name }) => name).join(', ') || 'none';
  if (settings.clusters.length > 0 || broken.length > 0)
    return ok(`the configuration can be read; clusters: ${names}`);
  return onSshHost
    ? noClusters
    : failed('no Kubernetes cluster is configured', 'Add one to OnDemand: clusters.d/NAME.yml.');
}

export function configWarning({ message, file, line, code }: SettingsWarning): CheckResult {
  const where = line === undefined ? file : `${file}:${line}`;
  return {
    id: 'config-warning',
    ...warning(message, `Correct it in ${where}. For more: berth explain ${code}`),
  };
}

async function accountCheck(
  { username, timeoutMs }: DoctorInput,
  loaded: LoadedSiteSettings | undefined,
  take: (user: User) => void,
): Promise<CheckResult[]> {
  if (username === undefined) return [];
  const run = (): ReturnType<typeof accountFinding> => {
    const user = lookupUser(username, { minimumUid: loaded?.settings.minimumUid ?? 1000 });
    take(user);
    return accountFinding(user);
  };
  return [await runCheck('user', run, timeoutMs)];
}

/** What the checks of all clusters share. */
interface SharedChecks {
  readonly user: User | undefined;
  readonly portal: PortalOfClusters | undefined;
  readonly common: CommonReads;
  /** The results of issuers, by their settings: clusters with the same ones share them. */
  readonly issuers: Map<string, Promise<CheckResult[]>>;
}

/** A cluster and its issuer, checked at the same time. */
async function checkOne(
  cluster: ClusterSettings,
  { now, timeoutMs }: DoctorInput,
  { settings }: LoadedSiteSettings,
  { user, portal, common, issuers }: SharedChecks,
): Promise<CheckResult[]> {
  const { keys: ondemand, results: ofKeys } =
    portal === undefined ? { results: [] } : checkOndemandKeys(cluster, portal);
  const results = await Promise.all([
    checkCluster({
      cluster,
      ondemand,
      common,
      clusterCount: settings.clusters.length,
      stateDir: settings.stateDir,
      now,
      timeoutMs,
      user,
    }),
    issuerOf(cluster, issuers, timeoutMs),
    checkClusterApi(cluster, timeoutMs),
  ]);
  return [...ofKeys, ...results.flat()];
}

/** Asks an issuer once, however many clusters have it with the same client. */
async function issuerOf(
  cluster: ClusterSettings,
  issuers: SharedChecks['issuers'],
  timeoutMs: number,
): Promise<CheckResult[]> {
  const oidc = oidcSettingsOf(cluster);
  if (oidc === undefined) return [];
  const key = JSON.stringify(oidc);
  const checking = issuers.get(key) ?? checkIssuer(cluster.name, oidc, timeoutMs);
  issuers.set(key, checking);
  return (await checking).map((result) => ({ ...result, cluster: cluster.name }));
}
