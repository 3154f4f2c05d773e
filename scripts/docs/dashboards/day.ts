import type { BerthDashboard } from './dashboard.ts';

/** Series of the chosen hosts. */
const host = 'instance=~"$host"';

/** What has been counted in an hour. */
const anHour = (counter: string, by: string, more = ''): string =>
  `sum by (${by}) (increase(${counter}{${host}${more}}[1h]))`;

const aMinute = (counter: string, by: string): string =>
  `sum by (${by}) (rate(${counter}{${host}}[5m])) * 60`;

const quantile = (of: number, histogram: string, by = ''): string =>
  `histogram_quantile(${of}, sum by (${by}le) (rate(${histogram}_bucket{${host}}[30m])))`;

const halfAndMost = (histogram: string): [string, string][] => [
  [quantile(0.5, histogram), 'half of them'],
  [quantile(0.95, histogram), '95 %'],
];

/** How a day went: what failed, and what was slow. */
export const day: BerthDashboard = {
  uid: 'berth-day',
  title: 'Berth: the day',
  description: 'Logins, sessions, clusters, the broker and the timers.',
  from: 'now-24h',
  rows: [
    {
      title: 'Now',
      numbers: [
        {
          title: 'Alerts that fire',
          unit: 'none',
          limits: [1, 3],
          queries: [
            ['count(ALERTS{alertname=~"Berth.+",alertstate="firing"}) or vector(0)', 'alerts'],
          ],
        },
        {
          title: 'Open SSH connections',
          unit: 'none',
          queries: [[`sum(berth_ssh_sessions_open{${host}})`, 'connections']],
        },
        {
          title: 'Logins at the portal, in an hour',
          unit: 'none',
          queries: [[`round(sum(increase(berth_portal_logins_total{${host}}[1h])))`, 'logins']],
        },
        {
          title: 'Failures of all kinds, in an hour',
          unit: 'none',
          limits: [1, 50],
          queries: [[`round(sum(increase(berth_errors_total{${host}}[1h])))`, 'errors']],
        },
        {
          title: 'Clusters that logins skip',
          unit: 'none',
          limits: [1, 1],
          queries: [[`sum(berth_cluster_backoff{${host}})`, 'clusters']],
        },
        {
          title: 'Services that have failed',
          unit: 'none',
          limits: [1, 1],
          queries: [[`count(berth_unit_success{${host}} == 0) or vector(0)`, 'services']],
        },
      ],
    },
    {
      title: 'Logins at the portal',
      graphs: [
        {
          title: 'Logins a minute',
          unit: 'none',
          stacked: true,
          queries: [[aMinute('berth_portal_logins_total', 'result'), '{{result}}']],
        },
        {
          title: 'Failures in an hour, by error',
          unit: 'none',
          queries: [[anHour('berth_portal_login_failures_total', 'code'), '{{code}}']],
        },
        {
          title: 'Duration',
          unit: 's',
          queries: halfAndMost('berth_portal_login_duration_seconds'),
        },
        {
          title: 'Duration by phase, 95 %',
          unit: 's',
          queries: [
            [quantile(0.95, 'berth_portal_login_phase_duration_seconds', 'phase, '), '{{phase}}'],
          ],
        },
        {
          title: 'Killed before they ended',
          unit: 'none',
          description: 'Runs of the hook that have begun and not ended, since boot.',
          queries: [
            [
              `sum by (instance) (berth_portal_logins_started_total{${host}}) - sum by (instance) (berth_portal_logins_total{${host}})`,
              '{{instance}}',
            ],
          ],
        },
        {
          title: 'Kubeconfigs written in an hour',
          unit: 'none',
          queries: [[anHour('berth_portal_kubeconfigs_written_total', 'instance'), '{{instance}}']],
        },
      ],
    },
    {
      title: 'Clusters',
      graphs: [
        {
          title: 'Namespaces looked at, in an hour',
          unit: 'none',
          queries: [
            [anHour('berth_portal_bootstraps_total', 'cluster, result'), '{{cluster}} {{result}}'],
          ],
        },
        {
          title: 'Duration, 95 %',
          unit: 's',
          queries: [
            [quantile(0.95, 'berth_portal_bootstrap_duration_seconds', 'cluster, '), '{{cluster}}'],
          ],
        },
        {
          title: "Until the hook's token expires",
          unit: 's',
          queries: [
            [
              `min by (cluster) (berth_hook_token_expiry_timestamp_seconds{${host}} - time())`,
              '{{cluster}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'SSH sessions',
      graphs: [
        {
          title: 'Connections in an hour',
          unit: 'none',
          queries: [
            [anHour('berth_ssh_connections_opened_total', 'instance'), 'opened on {{instance}}'],
          ],
        },
        {
          title: 'Sessions that did not start in an hour, by error',
          unit: 'none',
          queries: [[anHour('berth_ssh_session_failures_total', 'code'), '{{code}}']],
        },
        {
          title: 'Wait for the shell, 95 %',
          unit: 's',
          queries: [
            [
              quantile(0.95, 'berth_ssh_session_start_duration_seconds', 'profile, backend, '),
              '{{profile}} {{backend}}',
            ],
          ],
        },
        {
          title: 'Ended in an hour',
          unit: 'none',
          description: 'By PAM, by the reaper because PAM missed it, or at a limit of time.',
          queries: [
            [anHour('berth_ssh_connections_closed_total', 'by'), 'by {{by}}'],
            [anHour('berth_ssh_connections_limited_total', 'limit'), 'at the limit {{limit}}'],
          ],
        },
        {
          title: 'Traffic of connections that have ended',
          unit: 'Bps',
          queries: [
            [`sum(rate(berth_ssh_received_bytes_total{${host}}[5m]))`, 'received'],
            [`sum(rate(berth_ssh_sent_bytes_total{${host}}[5m]))`, 'sent'],
          ],
        },
        {
          title: 'Cleaned up by the reaper, in an hour',
          unit: 'none',
          queries: [
            [anHour('berth_ssh_reaped_connections_total', 'instance'), 'connections {{instance}}'],
            [anHour('berth_ssh_reaped_containers_total', 'instance'), 'containers {{instance}}'],
            [anHour('berth_ssh_reap_failures_total', 'instance'), 'failures {{instance}}'],
          ],
        },
      ],
    },
    {
      title: 'Broker and hubs',
      graphs: [
        {
          title: 'Requests a minute',
          unit: 'none',
          stacked: true,
          queries: [
            [aMinute('berth_broker_request_duration_seconds_count', 'result'), '{{result}}'],
          ],
        },
        {
          title: 'Duration of an answer',
          unit: 's',
          queries: halfAndMost('berth_broker_request_duration_seconds'),
        },
        {
          title: 'Tokens and requests of hubs, in an hour',
          unit: 'none',
          queries: [
            [anHour('berth_broker_credentials_total', 'cluster'), 'tokens of {{cluster}}'],
            [anHour('berth_hub_requests_total', 'request'), 'hub: {{request}}'],
          ],
        },
      ],
    },
    {
      title: 'Timers and errors',
      graphs: [
        {
          title: 'Since the last run',
          unit: 's',
          queries: [
            [`max by (unit) (time() - berth_unit_last_run_timestamp_seconds{${host}})`, '{{unit}}'],
            [
              `max by (instance) (time() - berth_metrics_last_run_timestamp_seconds{${host}})`,
              'metrics of {{instance}}',
            ],
          ],
        },
        {
          title: 'Since the last success of a sync',
          unit: 's',
          queries: [
            [
              `time() - berth_ldap_sync_last_success_timestamp_seconds{${host}}`,
              'LDAP {{cluster}}',
            ],
            [
              `time() - berth_slurm_sync_last_success_timestamp_seconds{${host}}`,
              'Slurm {{cluster}}',
            ],
          ],
        },
        {
          title: 'Errors and warnings in an hour',
          unit: 'none',
          queries: [
            [anHour('berth_errors_total', 'program, code'), '{{program}}: {{code}}'],
            [anHour('berth_warnings_total', 'program, code'), '{{program}}: {{code}}, a warning'],
          ],
        },
      ],
    },
  ],
};
