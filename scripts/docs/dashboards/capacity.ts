import type { BerthDashboard } from './dashboard.ts';

/** Series of the chosen hosts. */
const host = 'instance=~"$host"';

/** The pods of sessions: kube-state-metrics has their names, and no labels unless it is told to. */
const pods = 'pod=~"berth-.+",namespace!="ondemand"';

const sessionTime = (quantile: number): string =>
  `histogram_quantile(${quantile}, sum by (le) (rate(berth_ssh_connection_duration_seconds_bucket{${host}}[1d])))`;

const quota = (type: 'used' | 'hard'): string =>
  `sum by (resource) (kube_resourcequota{type="${type}"})`;

/** What is used of what there is. */
export const capacity: BerthDashboard = {
  uid: 'berth-capacity',
  title: 'Berth: capacity',
  description: 'Sessions, containers, pods, quotas, images, and the hosts themselves.',
  from: 'now-7d',
  rows: [
    {
      title: 'Sessions',
      graphs: [
        {
          title: 'Started in an hour, by profile',
          unit: 'none',
          stacked: true,
          queries: [
            [
              `sum by (profile, backend) (increase(berth_ssh_session_starts_total{${host}}[1h]))`,
              '{{profile}} {{backend}}',
            ],
          ],
        },
        {
          title: 'Open connections',
          unit: 'none',
          stacked: true,
          queries: [[`berth_ssh_sessions_open{${host}}`, '{{instance}}']],
        },
        {
          title: 'How long connections last',
          unit: 's',
          queries: [
            [sessionTime(0.5), 'half of them'],
            [sessionTime(0.95), '95 %'],
          ],
        },
        {
          title: 'Containers',
          unit: 'none',
          stacked: true,
          queries: [[`berth_ssh_containers{${host}}`, '{{instance}}']],
        },
        {
          title: "Users' services, and storage without an account",
          unit: 'none',
          queries: [
            [`berth_ssh_user_services{${host}}`, 'services on {{instance}}'],
            [`berth_ssh_storage_without_account{${host}}`, 'storage on {{instance}}'],
          ],
        },
        {
          title: 'Images that are missing or not whole',
          unit: 'none',
          queries: [[`berth_images_missing{${host}}`, '{{instance}}']],
        },
      ],
    },
    {
      title: 'Pods and quotas',
      graphs: [
        {
          title: 'Pods of sessions',
          unit: 'none',
          stacked: true,
          queries: [[`sum by (phase) (kube_pod_status_phase{${pods}})`, '{{phase}}']],
        },
        {
          title: 'Pods of sessions by node',
          unit: 'none',
          stacked: true,
          queries: [[`count by (node) (kube_pod_info{${pods},node!=""})`, '{{node}}']],
        },
        {
          title: 'Longest wait of a pending pod',
          unit: 's',
          queries: [
            [
              `max(time() - kube_pod_created and on (namespace, pod) kube_pod_status_phase{${pods},phase="Pending"} == 1) or vector(0)`,
              'seconds',
            ],
          ],
        },
        {
          title: 'CPUs: requested by sessions, and of all nodes',
          unit: 'none',
          queries: [
            [`sum(kube_pod_container_resource_requests{${pods},resource="cpu"})`, 'requested'],
            ['sum(kube_node_status_allocatable{resource="cpu"})', 'of all nodes'],
          ],
        },
        {
          title: 'Memory: requested by sessions, and of all nodes',
          unit: 'bytes',
          queries: [
            [`sum(kube_pod_container_resource_requests{${pods},resource="memory"})`, 'requested'],
            ['sum(kube_node_status_allocatable{resource="memory"})', 'of all nodes'],
          ],
        },
        {
          title: "Users' namespaces",
          unit: 'none',
          queries: [['count(count by (namespace) (kube_resourcequota))', 'with a quota']],
        },
        {
          title: 'Fullest quotas',
          unit: 'percentunit',
          queries: [
            [
              'topk(10, max by (namespace, resource) (kube_resourcequota{type="used"} / ignoring (type) (kube_resourcequota{type="hard"} > 0)))',
              '{{namespace}} {{resource}}',
            ],
          ],
        },
        {
          title: 'Used of all quotas',
          unit: 'percentunit',
          queries: [[`${quota('used')} / ${quota('hard')}`, '{{resource}}']],
        },
      ],
    },
    {
      title: 'Hosts',
      graphs: [
        {
          title: 'Load by CPU',
          unit: 'none',
          queries: [
            [
              `node_load5{${host}} / on (instance) count by (instance) (node_cpu_seconds_total{${host},mode="idle"})`,
              '{{instance}}',
            ],
          ],
        },
        {
          title: 'Memory in use',
          unit: 'percentunit',
          queries: [
            [
              `1 - node_memory_MemAvailable_bytes{${host}} / node_memory_MemTotal_bytes{${host}}`,
              '{{instance}}',
            ],
          ],
        },
        {
          title: 'Fullest file systems',
          unit: 'percentunit',
          queries: [
            [
              `topk(5, 1 - node_filesystem_avail_bytes{${host},fstype!~"tmpfs|ramfs|overlay"} / node_filesystem_size_bytes{${host},fstype!~"tmpfs|ramfs|overlay"})`,
              '{{instance}} {{mountpoint}}',
            ],
          ],
        },
        {
          title: 'Network',
          unit: 'Bps',
          queries: [
            [
              `sum by (instance) (rate(node_network_receive_bytes_total{${host},device!="lo"}[5m]))`,
              'received by {{instance}}',
            ],
            [
              `sum by (instance) (rate(node_network_transmit_bytes_total{${host},device!="lo"}[5m]))`,
              'sent by {{instance}}',
            ],
          ],
        },
        {
          title: 'Waiting for CPU, by the kernel',
          unit: 'percentunit',
          queries: [[`rate(node_pressure_cpu_waiting_seconds_total{${host}}[5m])`, '{{instance}}']],
        },
        {
          title: 'Waiting for memory, by the kernel',
          unit: 'percentunit',
          queries: [
            [`rate(node_pressure_memory_waiting_seconds_total{${host}}[5m])`, '{{instance}}'],
          ],
        },
      ],
    },
  ],
};
