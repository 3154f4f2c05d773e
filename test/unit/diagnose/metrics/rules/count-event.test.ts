import { describe, expect, it } from 'vitest';
import { countEvent, parseEvent } from '../../../../../src/diagnose/metrics/rules/count-event.ts';
import { families } from '../../../../../src/diagnose/metrics/rules/families.ts';
import {
  emptyTotals,
  type Gauges,
  metricsText,
} from '../../../../../src/diagnose/metrics/rules/totals.ts';
import type { SpooledEvent } from '../../../../../src/system/text/spooled-event.ts';

/** The samples after these events, by their names with labels. */
function samples(events: readonly object[], gauges: Gauges = {}): Record<string, number> {
  const totals = emptyTotals();
  for (const event of events) countEvent(event as SpooledEvent, totals);
  const lines = metricsText(totals, gauges)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const hook = { program: 'pre-pun' };

describe('countEvent', () => {
  it('counts logins at the portal with their results, times and phases', () => {
    const phases = { configuration_ms: 3, credentials_ms: 80, clusters_ms: 20 };
    const seen = samples([
      { ...hook, event: 'portal login begun' },
      { ...hook, event: 'portal login', exit: 0, took_ms: 110, ...phases },
      { ...hook, event: 'portal login begun' },
      { ...hook, event: 'portal login', exit: 75, code: 'api-unreachable', took_ms: 40_000 },
      { ...hook, event: 'portal login begun' },
    ]);
    expect(seen).toMatchObject({
      berth_portal_logins_started_total: 3,
      'berth_portal_logins_total{result="success"}': 1,
      'berth_portal_logins_total{result="failure"}': 1,
      'berth_portal_login_failures_total{code="api-unreachable"}': 1,
      'berth_portal_login_duration_seconds_bucket{le="0.1"}': 0,
      'berth_portal_login_duration_seconds_bucket{le="0.25"}': 1,
      'berth_portal_login_duration_seconds_bucket{le="30"}': 1,
      'berth_portal_login_duration_seconds_bucket{le="+Inf"}': 2,
      berth_portal_login_duration_seconds_sum: 40.11,
      berth_portal_login_duration_seconds_count: 2,
      'berth_portal_login_phase_duration_seconds_count{phase="credentials"}': 1,
      'berth_portal_login_phase_duration_seconds_bucket{phase="clusters",le="0.05"}': 1,
    });
  });

  it('counts a bootstrap that failed, and an error that is of no bootstrap only as an error', () => {
    const error = { ...hook, event: 'error', code: 'api-deadline', cluster: 'far' };
    const seen = samples([
      { ...error, took_ms: 9_000 },
      error,
      { ...error, program: 'pam-session', took_ms: 3 },
      { ...hook, event: 'namespace created', cluster: 'near', took_ms: 60 },
    ]);
    expect(seen).toMatchObject({
      'berth_portal_bootstraps_total{cluster="far",result="failed"}': 1,
      'berth_portal_bootstraps_total{cluster="near",result="created"}': 1,
      'berth_errors_total{program="pre-pun",code="api-deadline"}': 2,
      'berth_errors_total{program="pam-session",code="api-deadline"}': 1,
    });
  });

  it('counts sessions, with the bytes of those whose connection was there at the end', () => {
    const seen = samples([
      { program: 'pam-session', event: 'session opened' },
      {
        program: 'pam-session',
        event: 'session closed',
        seconds: 61,
        received_bytes: 10,
        sent_bytes: 7,
      },
      { program: 'reap', event: 'session closed', seconds: 5, by: 'reaper' },
      {
        program: 'pam-session',
        event: 'session started',
        profile: 'a',
        backend: 'pod',
        start_ms: 700,
      },
      { program: 'pam-session', event: 'session not started', code: 'image-missing' },
    ]);
    expect(seen).toMatchObject({
      berth_ssh_connections_opened_total: 1,
      'berth_ssh_connections_closed_total{by="pam"}': 1,
      'berth_ssh_connections_closed_total{by="reaper"}': 1,
      berth_ssh_received_bytes_total: 10,
      berth_ssh_sent_bytes_total: 7,
      'berth_ssh_session_start_duration_seconds_sum{profile="a",backend="pod"}': 0.7,
      'berth_ssh_session_failures_total{code="image-missing"}': 1,
    });
  });

  it('changes nothing for what it does not know, and for lines that are no events', () => {
    const nothing = samples([]);
    expect(
      samples([
        { ...hook, event: 'of a later version' },
        { ...hook, event: 'toString' },
      ]),
    ).toEqual(nothing);
    for (const line of ['', '{"program":"pre-p', 'null', '7', '{"event":"error"}'])
      expect(parseEvent(line)).toBeUndefined();
  });
});

describe('metricsText', () => {
  it('begins counters without labels at 0, and leaves out what was not looked at', () => {
    const seen = samples([], { berth_cluster_backoff: new Map([['a"b\n', 1]]) });
    expect(seen.berth_ssh_connections_opened_total).toBe(0);
    expect(seen['berth_cluster_backoff{cluster="a_b_"}']).toBe(1);
    expect(Object.keys(seen)).not.toContain('berth_images_missing');
  });

  it('has at most a thousand series of a family', () => {
    const events = Array.from({ length: 1_200 }, (_, index) => ({
      ...{ ...hook, event: 'credential handed out', cluster: `c${index}` },
    }));
    const series = Object.entries(samples(events)).filter(([name]) => name.includes('credentials'));
    expect(series).toHaveLength(1_001);
    expect(Object.fromEntries(series)['berth_broker_credentials_total{cluster=""}']).toBe(200);
  });

  it('has names with units, as Prometheus wants them', () => {
    for (const [name, { type, labels }] of Object.entries(families)) {
      expect(name).toMatch(/^berth_[a-z_]+$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      if (type === 'histogram') expect(name).toMatch(/_seconds$/);
      for (const label of Object.keys(labels)) expect(label).toMatch(/^[a-z]+$/);
    }
  });
});
