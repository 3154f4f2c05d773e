import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { writeMetrics, type Metric } from '../../system/metrics-file.ts';
import type { ReapReport } from './reap-sessions.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

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
 * @throws {BerthError} the errors of `writeAtomically`, such as `file-system-read-only` and `disk-full`
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
  const { ownerless, services, unreached } = report;
  const metric = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
    name: `berth_ssh_${name}`,
    type,
    help,
    value,
  });
  const gauge = (name: string, help: string, value: number) => metric(name, 'gauge', help, value);
  const counter = (name: string, help: string, value: number) =>
    metric(name, 'counter', `${help}, since boot.`, value);
  return [
    gauge('sessions_open', 'Open SSH connections.', report.sessionsOpen),
    gauge('containers', 'Containers of SSH sessions.', report.containersLeft),
    gauge('storage_without_account', 'Storage of UIDs without an account.', ownerless.length),
    gauge('user_services', "Services that systemd's managers of users run.", services.length),
    gauge('reap_users_not_reached', 'Users that the last run did not handle in time.', unreached),
    counter('reaped_connections_total', 'Connections that ended without PAM', totals.connections),
    counter('reaped_containers_total', 'Containers that the reaper removed', totals.containers),
    counter('reaped_processes_total', 'Processes that the reaper ended', totals.processes),
    counter('reap_failures_total', 'Cleanups by the reaper that failed', totals.failures),
    gauge('reap_last_run_timestamp_seconds', 'Time of the last run.', Math.floor(seconds)),
  ];
}

function readTotals(path: string): Totals {
  const none = { connections: 0, containers: 0, processes: 0, failures: 0 };
  const text = readPrivateFile(path, 0, 4096) ?? '';
  // Counters may restart at any time.
  return { ...none, ...(parsedJson(text) as Partial<Totals> | undefined) };
}
