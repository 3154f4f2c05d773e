import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { writeMetrics, type Metric } from '../../system/metrics-file.ts';
import type { ReapReport } from './reap-sessions.ts';

/** Sums over all runs since boot. */
interface Totals {
  readonly connections: number;
  readonly containers: number;
  readonly processes: number;
  readonly failures: number;
}

/**
 * Writes metrics for node_exporter's textfile collector, atomically and readable by all.
 *
 * @param run `/run/berth`, which holds the totals: counters start again after a reboot.
 * @param seconds Since the epoch.
 * @throws {BerthError} the errors of `writeAtomically`, such as `read-only` and `disk-full`
 */
export async function writeReapMetrics(
  file: string,
  report: ReapReport,
  { run, seconds }: { readonly run: string; readonly seconds: number },
): Promise<void> {
  const path = `${run}/reaped.json`;
  const before = readTotals(path);
  const totals: Totals = {
    connections: before.connections + report.connections.length,
    containers: before.containers + report.containers.length,
    processes: before.processes + report.processes,
    failures: before.failures + report.failed.length,
  };
  writePrivateFile(path, JSON.stringify(totals));
  await writeMetrics(file, metricsOf(report, totals, seconds));
}

function metricsOf(report: ReapReport, totals: Totals, seconds: number): Metric[] {
  const metric = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
    ...{ name: `berth_ssh_${name}`, type, help, value },
  });
  return [
    metric('sessions_open', 'gauge', 'Open SSH connections.', report.sessionsOpen),
    metric('containers', 'gauge', 'Containers of SSH sessions.', report.containersLeft),
    metric(
      'storage_without_account',
      'gauge',
      'Storage directories of UIDs without an account.',
      report.ownerless.length,
    ),
    metric(
      'reap_users_not_reached',
      'gauge',
      'Users that the last run did not handle in time.',
      report.unreached,
    ),
    metric(
      'reaped_connections_total',
      'counter',
      'Connections that ended without PAM, since boot.',
      totals.connections,
    ),
    metric(
      'reaped_containers_total',
      'counter',
      'Containers that the reaper removed, since boot.',
      totals.containers,
    ),
    metric(
      'reaped_processes_total',
      'counter',
      'Processes that the reaper ended, since boot.',
      totals.processes,
    ),
    metric(
      'reap_failures_total',
      'counter',
      'Cleanups by the reaper that failed, since boot.',
      totals.failures,
    ),
    metric(
      'reap_last_run_timestamp_seconds',
      'gauge',
      'Time of the last run of the reaper.',
      Math.floor(seconds),
    ),
  ];
}

function readTotals(path: string): Totals {
  const none = { connections: 0, containers: 0, processes: 0, failures: 0 };
  const text = readPrivateFile(path, 0, 4096);
  if (text === undefined) return none;
  try {
    return { ...none, ...(JSON.parse(text) as Partial<Totals>) };
  } catch {
    // Truncated, for example by a power failure. Counters may restart at any time.
    return none;
  }
}
