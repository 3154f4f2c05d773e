/** A series of promtool's unit tests, with one value a minute. */
type Series = Readonly<Record<string, string>>;

interface AlertCase {
  /** Minutes after which the alert must, or must not, fire. */
  readonly after: number;
  readonly fires: readonly Series[];
  readonly silent: readonly Series[];
}

/** Counters of a portal or a login node. */
const host = 'job="node",instance="a"';

/** A last run, in seconds since the epoch: none since the start of time, or one each minute. */
const lastRun = (metric: string, after: number): AlertCase => ({
  after,
  fires: [{ [metric]: `0x${after}` }],
  silent: [{ [metric]: `0+60x${after}` }],
});

const gauge = (
  metric: string,
  after: number,
  fires: number,
  silent: number,
  others: readonly Series[] = [],
): AlertCase => ({
  after,
  fires: [{ [metric]: `${fires}x${after}` }],
  silent: [{ [metric]: `${silent}x${after}` }, ...others],
});

/** A counter of failures that grows, or not. */
const failures = (metric: string): AlertCase => ({
  after: 60,
  fires: [{ [metric]: '0+1x60' }],
  silent: [{ [metric]: '5x60' }],
});

/** So many successes and failures a minute. */
const results = (metric: string, successes: number, failed: number): Series => ({
  [`${metric}{${host},result="success"}`]: `0+${successes}x60`,
  [`${metric}{${host},result="failure"}`]: `0+${failed}x60`,
});

const ratio = (metric: string): AlertCase => ({
  after: 45,
  fires: [results(metric, 4, 1)],
  // Rare failures, and one failure of a night without logins.
  silent: [
    results(metric, 20, 1),
    {
      [`${metric}{${host},result="success"}`]: '7x60',
      [`${metric}{${host},result="failure"}`]: '0x30 1x30',
    },
  ],
});

/** A histogram of which all observations are at most `seconds`, so many a minute. */
const observed = (metric: string, seconds: number, perMinute: number, labels = ''): Series =>
  Object.fromEntries([
    ...[1, 5, 10, 30, 120, '+Inf'].map((le) => [
      `${metric}_bucket{${host}${labels},le="${le}"}`,
      `0+${le === '+Inf' || Number(le) >= seconds ? perMinute : 0}x60`,
    ]),
    [`${metric}_count{${host}${labels}}`, `0+${perMinute}x60`],
  ]) as Series;

const slow = (metric: string, high: number, low: number, labels = ''): AlertCase => ({
  after: 60,
  fires: [observed(metric, high, 1, labels)],
  // Fast, and slow but rare.
  silent: [observed(metric, low, 1, labels), observed(metric, high, 0.05, labels)],
});

const cronJob = (created: string, suspend: string, last?: string): Series => {
  const job = '{namespace="ondemand",cronjob="berth-reaper"}';
  return {
    [`kube_cronjob_created${job}`]: created,
    [`kube_cronjob_spec_suspend${job}`]: suspend,
    ...(last === undefined ? {} : { [`kube_cronjob_status_last_successful_time${job}`]: last }),
  };
};

const pod = (namespace: string, name: string, pending: string): Series => ({
  [`kube_pod_status_phase{namespace="${namespace}",pod="${name}",phase="Pending"}`]: pending,
  [`kube_pod_created{namespace="${namespace}",pod="${name}"}`]: '0x60',
});

const sessions = (started: number, failed: number): Series => ({
  [`berth_ssh_session_starts_total{${host},profile="p",backend="podman"}`]: `0+${started}x60`,
  [`berth_ssh_session_failures_total{${host},code="image-pull-failed"}`]: `0+${failed}x60`,
});

const starts = 'berth_ssh_session_start_duration_seconds';
const ofBackend = (backend: string): string => `,profile="p",backend="${backend}"`;

/** Each alert of etc/kubernetes/monitoring/rules.yaml. */
export const alertCases: Readonly<Record<string, AlertCase>> = {
  BerthMetricsNotRunning: lastRun('berth_metrics_last_run_timestamp_seconds', 25),
  BerthMetricsEventsLost: gauge('berth_metrics_spool_full', 5, 1, 0),
  BerthUnitFailed: gauge('berth_unit_success{unit="berth-images"}', 40, 0, 1, [
    // It has its own alert.
    { 'berth_unit_success{unit="berth-ldap-sync"}': '0x40' },
    { 'berth_unit_success{unit="berth-reap"}': '0x40' },
  ]),
  BerthHookTokenExpiring: {
    after: 20,
    fires: [{ 'berth_hook_token_expiry_timestamp_seconds{cluster="prod"}': '28000x20' }],
    silent: [{ 'berth_hook_token_expiry_timestamp_seconds{cluster="prod"}': '57600x20' }],
  },
  BerthClusterBackoff: {
    after: 35,
    // Logins skip it for 30 seconds, and then try again.
    fires: [
      { 'berth_cluster_backoff{cluster="prod"}': '0x5 1 0 0 0 1 0 0x6 1 0 1 0x3 1 0x4 1 0x3' },
    ],
    silent: [
      { 'berth_cluster_backoff{cluster="prod"}': '0x35' },
      // One login that could not reach it.
      { 'berth_cluster_backoff{cluster="prod"}': '0x20 1 0x20' },
    ],
  },
  BerthPortalLoginsFailing: ratio('berth_portal_logins_total'),
  BerthPortalLoginsSlow: slow('berth_portal_login_duration_seconds', 10, 1),
  BerthBrokerFailing: ratio('berth_broker_request_duration_seconds_count'),
  BerthSessionsFailing: {
    after: 45,
    fires: [
      sessions(2, 1),
      { [`berth_ssh_session_failures_total{${host},code="podman-failed"}`]: '0+1x60' },
    ],
    silent: [sessions(10, 1), sessions(1, 0)],
  },
  BerthSessionsSlow: {
    ...slow(starts, 120, 5, ofBackend('pod')),
    silent: [
      observed(starts, 5, 1, ofBackend('pod')),
      observed(starts, 120, 0.05, ofBackend('pod')),
      // It waits in the queue.
      observed(starts, 120, 1, ofBackend('slurm')),
    ],
  },
  BerthImagesMissing: gauge('berth_images_missing', 130, 2, 0),
  BerthReapNotRunning: lastRun('berth_ssh_reap_last_run_timestamp_seconds', 25),
  BerthReapFailing: failures('berth_ssh_reap_failures_total'),
  BerthReapTooSlow: gauge('berth_ssh_reap_users_not_reached', 40, 3, 0),
  BerthLdapSyncNotRunning: lastRun('berth_ldap_sync_last_run_timestamp_seconds', 70),
  BerthLdapSyncFailing: gauge('berth_ldap_sync_success', 70, 0, 1),
  BerthSlurmSyncNotRunning: lastRun('berth_slurm_sync_last_run_timestamp_seconds', 70),
  BerthSlurmSyncFailing: gauge('berth_slurm_sync_success', 70, 0, 1),
  BerthClusterReapNotRunning: lastRun('berth_cluster_reap_last_run_timestamp_seconds', 25),
  BerthClusterReapFailing: failures('berth_cluster_reaped_failures_total{cluster="prod"}'),
  BerthCronJobNotSucceeding: {
    after: 90,
    // Never successful since its creation.
    fires: [cronJob('0x90', '0x90')],
    // Suspended, and successful.
    silent: [cronJob('0x90', '1x90'), cronJob('0x90', '0x90', '0+60x90')],
  },
  BerthPodsPending: {
    after: 20,
    fires: [
      {
        ...pod('u-alice', 'berth-default', '1x60'),
        ...pod('u-bob', 'berth-default', '1x60'),
        ...pod('u-carol', 'berth-default', '1x60'),
      },
    ],
    silent: [
      // A user alone can make it pend for ever.
      { ...pod('u-alice', 'berth-default', '1x60'), ...pod('u-alice', 'berth-2', '1x60') },
      pod('u-alice', 'berth-default', '1x9 0x60'),
      // A user's own, and one of a CronJob.
      pod('u-alice', 'training', '1x60'),
      pod('ondemand', 'berth-reaper-1', '1x60'),
    ],
  },
  BerthBalancerWithoutNodes: gauge('haproxy_backend_active_servers{proxy="alpha.pods"}', 5, 0, 2, [
    { 'haproxy_backend_active_servers{proxy="sources"}': '0x5' },
  ]),
  BerthBalancerNodeDown: gauge('haproxy_server_status{proxy="alpha.pods",state="DOWN"}', 15, 1, 0),
};
