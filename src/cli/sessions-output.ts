import { stringify } from 'yaml';
import type { Session } from '../ssh/sessions/session.ts';
import { endpointText } from '../system/tcp-connection.ts';
import { timestamp } from './duration.ts';
import { escapeInvisible } from './terminal.ts';
import { textTable } from './text-table.ts';

export type SessionsFormat = 'text' | 'wide' | 'json' | 'yaml';

export interface SessionsView {
  readonly format: SessionsFormat;
  readonly headings: boolean;
  /** The name of this host. */
  readonly node: string;
}

interface Column {
  readonly title: string;
  readonly wide?: true;
  readonly number?: true;
  readonly value: (session: Session, node: string) => string;
}

const columns: readonly Column[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'USER', value: ({ user }) => user },
  { title: 'PROFILE', value: ({ profile }) => profile ?? '-' },
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

/** The list in the wanted format. */
export function sessionsText(sessions: readonly Session[], view: SessionsView): string {
  const { format, headings, node } = view;
  if (format === 'json') return sessionsJson(sessions, node);
  if (format === 'yaml') return escapeInvisible(stringify(documentOf(sessions, node)));
  const shown = columns.filter(({ wide }) => wide !== true || format === 'wide');
  const rows = sessions.map((session) => shown.map(({ value }) => value(session, node)));
  return textTable(
    headings ? shown.map(({ title }) => title) : undefined,
    rows,
    shown.flatMap(({ number }, index) => (number === true ? [index] : [])),
  );
}

/** Everything about each session, in lines as `kubectl describe` prints them. */
export function sessionsDetails(sessions: readonly Session[], node: string): string {
  return sessions
    .map((session) => {
      const { claimedName, via, peer } = session;
      const from = columns.filter(({ title }) => title !== 'PROFILE' && title !== 'TTY');
      const rows = [
        ...from.map(({ title, value }) => [lowerTitle(title), value(session, node)]),
        ['Profile', session.profile ?? '-'],
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

function sessionsJson(sessions: readonly Session[], node: string): string {
  return `${escapeInvisible(JSON.stringify(documentOf(sessions, node), null, 2))}\n`;
}

/** Stable names; what is not known is null. Times in RFC 3339, sizes in bytes, durations in seconds. */
function documentOf(sessions: readonly Session[], node: string): object {
  return {
    version: 1,
    node,
    sessions: sessions.map(({ opened, ...session }) => ({
      ...{ id: session.id, user: session.user, uid: session.uid, node },
      profile: session.profile ?? null,
      backend: session.backend ?? null,
      name: session.name ?? null,
      claimedName: session.claimedName ?? null,
      since: timestamp(opened),
      idleSeconds: session.idleSeconds ?? null,
      from: session.from === '' ? null : session.from,
      ...{ via: session.via ?? null, peer: session.peer ?? null, local: session.local ?? null },
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
  return backend === 'podman' ? 'container' : backend;
}

function terminalNames(terminals: readonly string[]): string {
  return terminals.map((path) => path.replace('/dev/', '')).join(',') || '-';
}

/** In the admin's time zone, as `loginctl` and `who` show it. */
function localTime(epoch: number): string {
  const at = new Date(epoch * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** `40s`, `5m`, `3h05m`, `2d4h`; `-` without a terminal. */
function shortTime(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${minutes}m`;
  if (seconds < 86_400) return `${hours}h${String((minutes ?? 0) % 60).padStart(2, '0')}m`;
  return `${days}d${(hours ?? 0) % 24}h`;
}

/** CPU time as ps(1) shows it: `0:07`, `1:02:03`. */
function clockTime(total: number): string {
  const seconds = Math.floor(total);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${two(minutes)}:${rest}`;
}

function sizeText(bytes: number): string {
  const units = ['K', 'M', 'G', 'T'];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)}${units[unit] ?? ''}`;
}
