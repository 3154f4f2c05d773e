import type { SpooledEvent } from '../../../system/text/spooled-event.ts';
import { count, observe, type Totals } from './totals.ts';
import { parsedJson } from '../../../system/text/parsed-json.ts';

type Count = (event: SpooledEvent, totals: Totals) => void;

/** What each event counts, by its name. Errors and warnings with a code are counted for every program. */
const counts: Readonly<Record<string, Count>> = {
  'portal login begun': (_, totals) => count(totals, 'berth_portal_logins_started_total', {}),
  'portal login': (event, totals) => {
    const result = event.exit === 0 ? 'success' : 'failure';
    count(totals, 'berth_portal_logins_total', { result });
    if (result === 'failure')
      count(totals, 'berth_portal_login_failures_total', { code: text(event.code) });
    observe(totals, 'berth_portal_login_duration_seconds', {}, seconds(event.took_ms));
    for (const phase of ['configuration', 'credentials', 'clusters'] as const)
      observe(
        totals,
        'berth_portal_login_phase_duration_seconds',
        { phase },
        seconds(event[`${phase}_ms`]),
      );
  },
  'namespace created': bootstrapped('created'),
  'namespace adopted': bootstrapped('adopted'),
  'namespace kept': bootstrapped('kept'),
  'kubeconfig written': (_, totals) => count(totals, 'berth_portal_kubeconfigs_written_total', {}),
  'credential handed out': (event, totals) => {
    count(totals, 'berth_broker_credentials_total', { cluster: text(event.cluster) });
  },
  'broker request': ({ result, took_ms }, totals) => {
    const labels = { result: text(result) };
    observe(totals, 'berth_broker_request_duration_seconds', labels, seconds(took_ms));
  },
  'account looked up': (_, totals) =>
    count(totals, 'berth_hub_requests_total', { request: 'account' }),
  'namespace made for a hub': (_, totals) =>
    count(totals, 'berth_hub_requests_total', { request: 'namespace' }),
  'session opened': (_, totals) => count(totals, 'berth_ssh_connections_opened_total', {}),
  'session closed': (event, totals) => {
    count(totals, 'berth_ssh_connections_closed_total', { by: text(event.by, 'pam') });
    observe(totals, 'berth_ssh_connection_duration_seconds', {}, number(event.seconds));
    for (const direction of ['received', 'sent'] as const) {
      const bytes = number(event[`${direction}_bytes`]);
      if (bytes !== undefined) count(totals, `berth_ssh_${direction}_bytes_total`, {}, bytes);
    }
  },
  'session started': (event, totals) => {
    const labels = { profile: text(event.profile), backend: text(event.backend) };
    count(totals, 'berth_ssh_session_starts_total', labels);
    observe(totals, 'berth_ssh_session_start_duration_seconds', labels, seconds(event.start_ms));
  },
  'session not started': (event, totals) =>
    count(totals, 'berth_ssh_session_failures_total', { code: text(event.code) }),
  'session ended at its limit': (event, totals) =>
    count(totals, 'berth_ssh_connections_limited_total', { limit: text(event.limit) }),
  error: (event, totals) => {
    const { program, cluster, code, took_ms: tookMs } = event;
    count(totals, 'berth_errors_total', { program, code: text(code) });
    // The hook's errors of a bootstrap have its time.
    if (program === 'pre-pun' && cluster !== undefined && tookMs !== undefined)
      bootstrapped('failed')(event, totals);
  },
  warning: ({ program, code }, totals) =>
    count(totals, 'berth_warnings_total', { program, code: text(code) }),
};

/** Adds an event to the totals. What is not counted, for example of a later version, changes nothing. */
export function countEvent(event: SpooledEvent, totals: Totals): void {
  if (Object.hasOwn(counts, event.event)) counts[event.event]?.(event, totals);
}

/** @returns undefined if the line is no event: a full disk has cut it */
export function parseEvent(line: string): SpooledEvent | undefined {
  const event = parsedJson(line) as Partial<SpooledEvent> | null | undefined;
  if (typeof event?.program !== 'string' || typeof event.event !== 'string') return undefined;
  return event as SpooledEvent;
}

function bootstrapped(result: string): Count {
  return (event, totals) => {
    const cluster = text(event.cluster);
    count(totals, 'berth_portal_bootstraps_total', { cluster, result });
    observe(totals, 'berth_portal_bootstrap_duration_seconds', { cluster }, seconds(event.took_ms));
  };
}

function text(value: string | number | undefined, otherwise = ''): string {
  return value === undefined ? otherwise : String(value);
}

function seconds(milliseconds: string | number | undefined): number | undefined {
  const value = number(milliseconds);
  return value === undefined ? undefined : value / 1000;
}

function number(value: string | number | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
