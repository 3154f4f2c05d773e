import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { contextChoice } from '../../clusters/access/hook-access.ts';
import { tokenState } from '../../clusters/access/token-state.ts';
import { defaultConfigFile, defaultSettings } from '../../config/schema/default-settings.ts';
import type { SiteSettings } from '../../config/schema/settings.ts';
import { parseKubeconfig } from '../../credentials/kubeconfig/kubeconfig-document.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import { listImages } from '../../setup/images/list-images.ts';
import { readContext } from '../../kube/admin-kubeconfig.ts';
import type { Gauges } from '../../diagnose/metrics/rules/totals.ts';
import { clustersToSkip, readBackoff } from '../../portal/cluster-backoff.ts';
import { timerStates } from '../../system/systemd-timers.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { loadSite, loadSsh, type SiteArguments } from '../kit/site-options.ts';

const sshFile = '/etc/berth/ssh.yml';

interface HostGauges {
  readonly gauges: Gauges;
  /** Why others are missing. */
  readonly errors: readonly BerthError[];
}

/**
 * What each run looks at, of the parts that this host has. No cluster is asked.
 *
 * @param now milliseconds since the epoch
 */
export async function hostGauges(args: SiteArguments, now: number): Promise<HostGauges> {
  const looks: readonly [what: string, look: () => Promise<Gauges>][] = [
    [
      'the clusters',
      async () =>
        [args.config ?? defaultConfigFile, defaultSettings.clustersDir].some(existsSync)
          ? clusterGauges(args, now)
          : {},
    ],
    ['the images', async () => (existsSync(sshFile) ? imageGauges() : {})],
    ['the services', async () => (hasSystemd() ? unitGauges(now) : {})],
  ];
  const errors: BerthError[] = [];
  let gauges: Gauges = {};
  for (const [what, look] of looks) {
    try {
      gauges = { ...gauges, ...(await look()) };
    } catch (thrown) {
      const { isWithoutClusters } = await import('../../diagnose/doctor/host-roles.ts');
      // As in `berth status`: a login node with a berth.yml and without OnDemand.
      if (existsSync(sshFile) && isWithoutClusters(thrown)) continue;
      errors.push(asBerthError(thrown, `looking at ${what}`));
    }
  }
  return { gauges, errors };
}

async function clusterGauges(args: SiteArguments, now: number): Promise<Gauges> {
  const { settings } = await loadSite(args);
  const { clusters, stateDir } = settings;
  const names = clusters.map(({ name }) => name);
  const skipped = clustersToSkip(readBackoff(stateDir), names, now / 1000);
  return {
    berth_hook_token_expiry_timestamp_seconds: tokenExpiries(settings),
    berth_cluster_backoff: new Map(names.map((name) => [name, skipped.has(name) ? 1 : 0])),
  };
}

/** Seconds since the epoch, of the clusters where the hook has a token; what else it has does not expire, or is not known. */
function tokenExpiries({ clusters }: SiteSettings): ReadonlyMap<string, number> {
  const expiries = new Map<string, number>();
  for (const cluster of clusters) {
    const choice = contextChoice(cluster, clusters.length);
    const { file } = choice;
    try {
      const { values } = parseKubeconfig(readTrusted(file), file);
      const read = (path: string): string => readTrusted(resolve(dirname(file), path));
      const { expires } = tokenState(readContext(values, choice, read).server.token, 0);
      if (expires !== undefined) expiries.set(cluster.name, expires);
    } catch {
      // `berth doctor` says why the hook has no access.
    }
  }
  return expiries;
}

async function imageGauges(): Promise<Gauges> {
  // Each minute: their files are for `berth images check`.
  const images = listImages(await loadSsh({}), { files: false });
  const missing = images.filter(
    ({ status, profiles }) => profiles.length > 0 && status !== 'complete',
  );
  return { berth_images_missing: missing.length };
}

/** Of the services that a timer starts; while one runs, systemd no longer has the result of its last run. */
async function unitGauges(now: number): Promise<Gauges> {
  const ran = (await timerStates('berth-', now)).flatMap(({ name, lastRun, ...state }) =>
    lastRun === undefined || state.result === 'condition' ? [] : [{ name, lastRun, ...state }],
  );
  const ended = ran.filter(({ running }) => !running);
  return {
    berth_unit_last_run_timestamp_seconds: new Map(ran.map((one) => [one.name, one.lastRun])),
    berth_unit_success: new Map(
      ended.map(({ name, result }) => [name, result === 'success' ? 1 : 0]),
    ),
  };
}
