/** One line of the status. */
export interface StatusRow {
  readonly what: string;
  readonly state: 'works' | 'has errors' | 'does not run';
  /** When the last run was. */
  readonly lastRun: string;
  /** Figures, such as `12 open connections`. */
  readonly figures: readonly (readonly [count: number, noun: string])[];
}

/** What Berth's timers write (`writeMetrics`): after how many seconds a run is missing is what the alerts say, too. */
const sources = [
  {
    what: 'Cleanup of sessions',
    lastRun: 'berth_ssh_reap_last_run',
    lateAfter: 900,
    figures: [
      ['berth_ssh_sessions_open', 'open connection'],
      ['berth_ssh_containers', 'container'],
    ],
  },
  {
    what: 'Groups on the clusters',
    lastRun: 'berth_ldap_sync_last_run',
    lateAfter: 3600,
    success: 'berth_ldap_sync_success',
    figures: [],
  },
  {
    what: 'Accounts of Slurm',
    lastRun: 'berth_slurm_sync_last_run',
    lateAfter: 3600,
    success: 'berth_slurm_sync_success',
    figures: [],
  },
  {
    what: 'Cleanup on the clusters',
    lastRun: 'berth_cluster_reap_last_run',
    lateAfter: 900,
    figures: [],
  },
] as const;

/**
 * The state of what Berth's timers do; nothing for a timer that has never run.
 *
 * @param metrics texts of files for node_exporter's textfile collector
 * @param now seconds since the epoch
 * @param timeText of such seconds
 */
export function statusRows(
  metrics: readonly string[],
  now: number,
  timeText: (epoch: number) => string,
): StatusRow[] {
  // Of several clusters, the one that is worst: the lowest value of the times and of `success`.
  const samples = new Map<string, number>();
  for (const line of metrics.flatMap((text) => text.split('\n'))) {
    const [, name, text] = /^([a-z_]+)(?:\{cluster="[^"]*"\})? (\d+(?:\.\d+)?)$/.exec(line) ?? [];
    if (name !== undefined)
      samples.set(name, Math.min(Number(text), samples.get(name) ?? Number.POSITIVE_INFINITY));
  }
  return sources.flatMap((source) => {
    const lastRun = samples.get(`${source.lastRun}_timestamp_seconds`);
    if (lastRun === undefined) return [];
    const failed = 'success' in source && samples.get(source.success) === 0;
    const late = now - lastRun > source.lateAfter;
    const state = late ? 'does not run' : failed ? 'has errors' : 'works';
    const figures = source.figures.flatMap(([name, noun]) => {
      const count = samples.get(name);
      return count === undefined ? [] : [[count, noun] as const];
    });
    return { what: source.what, state, lastRun: timeText(lastRun), figures };
  });
}
