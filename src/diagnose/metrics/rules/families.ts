/** A metric family as docs/metrics.md lists it. Names and units are by Prometheus's conventions. */
export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Its labels, with what each is. */
  readonly labels: Readonly<Record<string, string>>;
  /** Upper bounds of a histogram's buckets, in the family's unit. */
  readonly buckets?: readonly number[];
}

const cluster = { cluster: "OnDemand's name of the cluster" };
const session = { profile: 'the profile', backend: '`podman`, `pod` or `slurm`' };
const code = { code: 'the [error code](errors.md)' };
const unit = { unit: 'name of the service, without `.service`' };
const program = {
  program: '`pre-pun`, `pam-session`, `credential-broker`, `hub-bootstrap` or `reap`',
};

/** Seconds. A login at the portal is waited for; a connection lasts for hours. */
const waited = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const lasting = [1, 10, 60, 600, 3_600, 14_400, 43_200, 86_400];
/** Seconds. A job of Slurm may start an hour later. */
const started = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600, 3_600];

/** What `berth metrics` writes: counted from events since boot, or looked at by each run. */
export const families = {
  berth_portal_logins_started_total: {
    type: 'counter',
    help: 'Runs of the hook that have begun. Those that never end were killed.',
    labels: {},
  },
  berth_portal_logins_total: {
    type: 'counter',
    help: "Runs of the hook that have ended. With OSC's two hooks, a login is two.",
    labels: { result: '`success` or `failure`' },
  },
  berth_portal_login_failures_total: {
    type: 'counter',
    help: 'Runs of the hook that have failed, by their first error.',
    labels: code,
  },
  berth_portal_login_duration_seconds: {
    type: 'histogram',
    help: 'How long runs of the hook took.',
    labels: {},
    buckets: waited,
  },
  berth_portal_login_phase_duration_seconds: {
    type: 'histogram',
    help: 'How long each phase of the hook took.',
    labels: { phase: '`configuration`, `credentials`, or `clusters`: the wait for them after it' },
    buckets: waited,
  },
  berth_portal_bootstraps_total: {
    type: 'counter',
    help: 'Namespaces that the hook has looked at, and what became of it.',
    labels: { ...cluster, result: '`created`, `adopted`, `kept` or `failed`' },
  },
  berth_portal_bootstrap_duration_seconds: {
    type: 'histogram',
    help: 'How long a namespace took on a cluster.',
    labels: cluster,
    buckets: waited,
  },
  berth_portal_kubeconfigs_written_total: {
    type: 'counter',
    help: 'Kubeconfigs of users that have changed.',
    labels: {},
  },
  berth_broker_credentials_total: {
    type: 'counter',
    help: "Tokens that the broker has given to users' kubectl.",
    labels: cluster,
  },
  berth_broker_request_duration_seconds: {
    type: 'histogram',
    help: 'How long the broker took for an answer.',
    labels: {
      result: '`success`, `failure`, or `refused`: a request that no kubectl of a login makes',
    },
    buckets: waited,
  },
  berth_hub_requests_total: {
    type: 'counter',
    help: 'Requests of hubs that were answered. Others are in `berth_errors_total`.',
    labels: { request: '`account` or `namespace`' },
  },
  berth_ssh_connections_opened_total: {
    type: 'counter',
    help: 'SSH connections that PAM has opened.',
    labels: {},
  },
  berth_ssh_connections_closed_total: {
    type: 'counter',
    help: 'SSH connections that have ended and were cleaned up.',
    labels: { by: '`pam`, or `reaper` if PAM missed it' },
  },
  berth_ssh_connection_duration_seconds: {
    type: 'histogram',
    help: 'How long SSH connections were open.',
    labels: {},
    buckets: lasting,
  },
  berth_ssh_received_bytes_total: {
    type: 'counter',
    help: "Bytes that clients sent, by the kernel's count of the TCP connection. Of connections that PAM has closed.",
    labels: {},
  },
  berth_ssh_sent_bytes_total: {
    type: 'counter',
    help: 'Bytes that were sent to clients, as received bytes.',
    labels: {},
  },
  berth_ssh_session_starts_total: {
    type: 'counter',
    help: "Sessions that have started, as the user's own login says when its connection closes.",
    labels: session,
  },
  berth_ssh_session_start_duration_seconds: {
    type: 'histogram',
    help: "How long users waited until their shell or command was started, as the user's own login says.",
    labels: session,
    buckets: started,
  },
  berth_ssh_session_failures_total: {
    type: 'counter',
    help: "Sessions that did not start, as the user's own login says when its connection closes.",
    labels: code,
  },
  berth_ssh_connections_limited_total: {
    type: 'counter',
    help: 'SSH connections that Berth ended at a limit. Clusters and Slurm end pods and jobs themselves.',
    labels: { limit: '`hard` or `idle`' },
  },
  berth_errors_total: {
    type: 'counter',
    help: 'Errors that these programs have logged.',
    labels: { ...program, ...code },
  },
  berth_warnings_total: {
    type: 'counter',
    help: 'Warnings with a code that these programs have logged.',
    labels: { ...program, ...code },
  },
  berth_hook_token_expiry_timestamp_seconds: {
    type: 'gauge',
    help: "When the token of the hook's account expires, in seconds since the epoch.",
    labels: cluster,
  },
  berth_cluster_backoff: {
    type: 'gauge',
    help: '1 if logins skip the cluster, because one in the last 30 s could not reach it, otherwise 0. Never 1 for all clusters of a portal.',
    labels: cluster,
  },
  berth_unit_last_run_timestamp_seconds: {
    type: 'gauge',
    help: "When a timer's service last ended, in seconds since the epoch. Missing before its first run since boot.",
    labels: unit,
  },
  berth_unit_success: {
    type: 'gauge',
    help: '1 if the last run of the service succeeded, otherwise 0. Missing while it runs.',
    labels: unit,
  },
  berth_images_missing: {
    type: 'gauge',
    help: 'Images of profiles that are not in the shared store of this host, or lack a layer.',
    labels: {},
  },
  berth_metrics_spool_full: {
    type: 'gauge',
    help: '1 if the spool was full when the last run began, so that events may be lost, otherwise 0.',
    labels: {},
  },
  berth_metrics_last_run_timestamp_seconds: {
    type: 'gauge',
    help: 'When `berth metrics` last ran, in seconds since the epoch.',
    labels: {},
  },
  berth_build_info: {
    type: 'gauge',
    help: 'Always 1.',
    labels: { version: "Berth's version" },
  },
} as const satisfies Readonly<Record<string, Family>>;

export type FamilyName = keyof typeof families;
