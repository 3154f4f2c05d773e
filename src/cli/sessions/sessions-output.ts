import { backendOf } from '../../sessions/backends/backends.ts';
import type { PodSession } from '../../sessions/backends/pod/pod-session.ts';
import type { Session, UserService } from '../../login/sessions/list-sessions.ts';
import { endpointText } from '../../system/tcp-table.ts';
import type { Documents, ListedPod } from '../documents.ts';
import { documentText } from '../kit/terminal.ts';
import { localTime, shortTime, sizeText, textTable, timestamp, twoDigits } from '../kit/text.ts';

export type SessionsFormat = 'text' | 'wide' | 'json';

export interface SessionsView {
  readonly format: SessionsFormat;
  readonly headings: boolean;
  /** The name of this host. */
  readonly node: string;
  /** What systemd's managers of users run outside of sessions; undefined if it was not looked at. */
  readonly services?: readonly UserService[];
}

interface Column<Row> {
  readonly title: string;
  readonly wide?: true;
  readonly number?: true;
  readonly value: (row: Row, node: string) => string;
}

const columns: readonly Column<Session>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'USER', value: ({ user }) => user },
  { title: 'PROFILE', value: ({ profiles }) => profiles.join(',') || '-' },
  { title: 'BACKEND', value: ({ backend }) => backendText(backend) },
  { title: 'NAME', value: ({ name }) => name ?? '-' },
  { title: 'SINCE', value: ({ opened }) => localTime(opened) },
  { title: 'IDLE', number: true, value: ({ idleSeconds }) => shortTime(idleSeconds) },
  { title: 'FROM', value: ({ from }) => (from === '' ? '-' : from) },
  { title: 'CPU', number: true, value: ({ cpuSeconds }) => clockTime(cpuSeconds) },
  { title: 'MEMORY', number: true, value: ({ memoryBytes }) => sizeText(memoryBytes) },
  { title: 'NODE', wide: true, value: (_, node) => node },
  { title: 'TTY', wide: true, value: ({ terminals }) => terminalNames(terminals) },
  { title: 'PORT', wide: true, number: true, value: ({ local }) => String(local?.port ?? '-') },
  {
    title: 'PEER',
    wide: true,
    value: ({ peer }) => (peer === undefined ? '-' : endpointText(peer)),
  },
  { title: 'SSHD', wide: true, value: ({ unit }) => unit ?? '-' },
  { title: 'PROCESSES', wide: true, number: true, value: ({ processes }) => String(processes) },
];

const podColumns: readonly Column<PodSession>[] = [
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

/**
 * The list in the wanted format.
 *
 * @param pods undefined if only this node was asked
 */
export function sessionsText(
  sessions: readonly Session[],
  pods: readonly PodSession[] | undefined,
  view: SessionsView,
): string {
  const { format, node, services } = view;
  if (format === 'json') {
    const fields = {
      ...fieldsOf(sessions, node),
      ...(pods && { pods: pods.map(podDocument) }),
      services,
    };
    return documentText('SessionList', fields);
  }
  // Each kind of things is a table, as `kubectl get pods,services` prints them.
  const isOnly = pods === undefined && (services ?? []).length === 0;
  const tables = [
    ...(sessions.length > 0 || isOnly ? [columnsTable(columns, sessions, view)] : []),
    ...(pods === undefined || pods.length === 0 ? [] : [podsTable(pods, view)]),
    ...(services === undefined || services.length === 0
      ? []
      : [
          textTable(
            view.headings ? ['SERVICE-OF-UID', 'UNIT', 'PROCESSES'] : undefined,
            services.map(({ uid, unit, processes }) => [String(uid), unit, String(processes)]),
            [0, 2],
          ),
        ]),
  ];
  return tables.join('\n');
}

function columnsTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { format, headings, node }: Omit<SessionsView, 'services'>,
): string {
  const shown = columns.filter(({ wide }) => wide !== true || format === 'wide');
  return textTable(
    headings ? shown.map(({ title }) => title) : undefined,
    rows.map((row) => shown.map(({ value }) => value(row, node))),
    shown.flatMap(({ number }, index) => (number === true ? [index] : [])),
  );
}

export function podsTable(
  pods: readonly PodSession[],
  view: Omit<SessionsView, 'services'>,
): string {
  return columnsTable(podColumns, pods, view);
}

/** Everything about each session, in lines as `kubectl describe` prints them. */
export function sessionsDetails(sessions: readonly Session[], node: string): string {
  return sessions
    .map((session) => {
      const { claimedName, via, peer } = session;
      const from = columns.filter(({ title }) => title !== 'PROFILE' && title !== 'TTY');
      const rows = [
        ...from.map(({ title, value }) => [lowerTitle(title), value(session, node)]),
        ['Profile', session.profiles.join(', ') || '-'],
        ...(claimedName === undefined ? [] : [['Claimed name', claimedName]]),
        ['Terminals', session.terminals.join(', ') || '-'],
        ...(via === undefined ? [] : [['Via balancer', endpointText(via)]]),
      ].map(([title = '', value = '']) => [`${title}:`, value]);
      // For a site that has only the balancer's log to look at.
      const join =
        via === undefined && peer !== undefined
          ? [
              [
                "Balancer's log:",
                `behind a balancer, the line with source=${peer.address} source_port=${peer.port}`,
              ],
            ]
          : [];
      return textTable(undefined, [...rows, ...join]);
    })
    .join('\n');
}

function lowerTitle(title: string): string {
  return title.length <= 4 && title !== 'NAME' && title !== 'USER' && title !== 'FROM'
    ? title
    : `${title.slice(0, 1)}${title.slice(1).toLowerCase()}`;
}

/** Stable names; what is not known is null. Times in RFC 3339, sizes in bytes, durations in seconds. */
function fieldsOf(sessions: readonly Session[], node: string): Documents['SessionList'] {
  return {
    node,
    sessions: sessions.map(({ opened, ...session }) => ({
      id: session.id,
      user: session.user,
      uid: session.uid,
      node,
      profile: session.profile ?? null,
      profiles: session.profiles,
      backend: session.backend ?? null,
      name: session.name ?? null,
      claimedName: session.claimedName ?? null,
      since: timestamp(opened),
      idleSeconds: session.idleSeconds ?? null,
      from: session.from === '' ? null : session.from,
      via: session.via ?? null,
      peer: session.peer ?? null,
      local: session.local ?? null,
      sshd: session.unit ?? null,
      terminals: session.terminals,
      processes: session.processes,
      cpuSeconds: Math.round(session.cpuSeconds * 100) / 100,
      memoryBytes: session.memoryBytes,
    })),
  };
}

function backendText(backend: Session['backend']): string {
  if (backend === undefined) return '-';
  return backend === 'host' ? backend : backendOf({ backend }).noun;
}

function terminalNames(terminals: readonly string[]): string {
  return terminals.map((path) => path.replace('/dev/', '')).join(',') || '-';
}

/** Everything about each pod, in lines as `kubectl describe` prints them. */
export function podsDetails(pods: readonly PodSession[]): string {
  return pods
    .map((pod) =>
      textTable(
        undefined,
        podColumns.map(({ title, value }) => [`${sentence(title)}:`, value(pod, '')]),
      ),
    )
    .join('\n');
}

function sentence(title: string): string {
  const text = title.replace('-', ' ');
  return title === 'CPU' ? title : `${text.slice(0, 1)}${text.slice(1).toLowerCase()}`;
}

/** Stable names; what is not known is null. */
function podDocument(pod: PodSession): ListedPod {
  return {
    cluster: pod.cluster,
    namespace: pod.namespace,
    name: pod.name,
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

/** CPU time as ps(1) shows it: `0:07`, `1:02:03`. */
function clockTime(total: number): string {
  const seconds = Math.floor(total);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = twoDigits(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${twoDigits(minutes)}:${rest}`;
}
