import type { PodSession } from '../../backends/pod/pod-session.ts';
import type { ListedPod } from '../documents.ts';
import { localTime, sizeText, timestamp } from '../kit/duration.ts';
import { textTable } from '../kit/text-table.ts';

interface Column {
  readonly title: string;
  readonly wide?: true;
  readonly number?: true;
  readonly value: (pod: PodSession) => string;
}

const columns: readonly Column[] = [
  { title: 'POD', value: ({ namespace, name }) => `${namespace}/${name}` },
  { title: 'USER', value: ({ user }) => user ?? '-' },
  // The user can write it.
  { title: 'PROFILE-LABEL', value: ({ profileLabel }) => profileLabel ?? '-' },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'SINCE', value: ({ opened }) => (opened === 0 ? '-' : localTime(opened)) },
  { title: 'LOGIN-NODES', value: ({ loginNodes }) => loginNodes.join(',') || '-' },
  { title: 'CPU', number: true, value: ({ usage }) => coresText(usage?.cpuCores) },
  {
    title: 'MEMORY',
    number: true,
    value: ({ usage }) => (usage === undefined ? '-' : sizeText(usage.memoryBytes)),
  },
  { title: 'CLUSTER', wide: true, value: ({ cluster }) => cluster },
  { title: 'NODE', wide: true, value: ({ clusterNode }) => clusterNode ?? '-' },
];

export function podsTable(
  pods: readonly PodSession[],
  { headings, wide }: { readonly headings: boolean; readonly wide: boolean },
): string {
  const shown = columns.filter((column) => wide || column.wide !== true);
  return textTable(
    headings ? shown.map(({ title }) => title) : undefined,
    pods.map((pod) => shown.map(({ value }) => value(pod))),
    shown.flatMap(({ number }, index) => (number === true ? [index] : [])),
  );
}

/** Everything about each pod, in lines as `kubectl describe` prints them. */
export function podsDetails(pods: readonly PodSession[]): string {
  return pods
    .map((pod) =>
      textTable(
        undefined,
        columns.map(({ title, value }) => [`${sentence(title)}:`, value(pod)]),
      ),
    )
    .join('\n');
}

function sentence(title: string): string {
  const text = title.replace('-', ' ');
  return title === 'CPU' ? title : `${text.slice(0, 1)}${text.slice(1).toLowerCase()}`;
}

/** Stable names; what is not known is null. */
export function podDocument(pod: PodSession): ListedPod {
  return {
    ...{ cluster: pod.cluster, namespace: pod.namespace, name: pod.name },
    user: pod.user ?? null,
    profileLabel: pod.profileLabel ?? null,
    status: pod.status,
    since: pod.opened === 0 ? null : timestamp(pod.opened),
    loginNodes: pod.loginNodes,
    node: pod.clusterNode ?? null,
    cpuCores: pod.usage?.cpuCores ?? null,
    memoryBytes: pod.usage?.memoryBytes ?? null,
  };
}

/** In thousandths, as `kubectl top` shows it. */
function coresText(cores: number | undefined): string {
  return cores === undefined ? '-' : `${Math.ceil(cores * 1000)}m`;
}
