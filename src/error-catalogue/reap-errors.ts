import type { CatalogueEntries } from './entry.ts';

/** `berth reap` on login nodes and on clusters. */
export const reapErrors = {
  'reap-incomplete': {
    what: '`berth reap` could not end everything. Its output names each failure.',
    why: 'See the codes of the individual failures.',
    next: 'The next run tries again. If a failure persists for an hour, run `berth explain` with its code.',
  },
  'reap-user-timeout': {
    what: 'The cleanup for one user took more than a minute and was stopped.',
    why: 'A file system of that user does not answer, or a directory has very many files.',
    next: 'Look for hung mounts: `df`, `dmesg`. The next run handles this user last.',
  },
  'reap-user-crashed': {
    what: 'The process that cleans up for one user ended unexpectedly.',
    why: 'The kernel killed it for lack of memory.',
    next: 'Check `journalctl -k | grep -i oom`. The next run tries again.',
  },
  'reap-timeout': {
    what: 'A run of `berth reap` ended before all users were handled.',
    why: 'The cleanup of several users took too long: see `reap-user-timeout`.',
    next: 'The next run begins with those who were not handled. To find the slow users: `journalctl -u berth-reap | grep reap-user-timeout`.',
  },
  'reap-too-many-pods': {
    what: 'A user has more session pods of this login node than one run checks (200). The others were left for the next run.',
    why: 'Scripts that open many connections, or pods that the user created with the labels of Berth.',
    next: 'Limit the pods of the namespace with a ResourceQuota (`resource_quota.hard` in berth.yml).',
  },
  'reap-namespace-too-large': {
    what: 'A namespace has more job objects than one run looks at. The rest was left for the next run.',
    why: 'A user submits very many jobs.',
    next: 'Limit objects with a ResourceQuota. Pods end at their lifetime all the same.',
  },
  'prometheus-unreachable': {
    what: 'Prometheus did not answer, so no namespace was deleted.',
    why: 'It is down, or the address of `--prometheus` is wrong.',
    next: 'Try `curl URL/-/ready`. The next run tries again.',
  },
  'prometheus-refused': {
    what: 'Prometheus rejected the query, so no namespace was deleted.',
    why: '`--prometheus-matchers` is not valid, or the address leads to another program.',
    next: 'Run the query `kube_pod_container_info{MATCHERS}` in Prometheus.',
  },
  'prometheus-incomplete': {
    what: 'Prometheus answered, but does not know the pods of the cluster, so no namespace was deleted.',
    why: 'It does not scrape kube-state-metrics of this cluster, or the matchers select nothing.',
    next: 'Run the query `kube_pod_container_info{MATCHERS}` in Prometheus: it must return pods.',
  },
} as const satisfies CatalogueEntries;
