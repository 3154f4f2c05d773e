import { gauge, type SyncRun, writeSyncMetrics } from '../../directory/sync-metrics.ts';
import type { Metric } from '../../system/metrics-file.ts';
import type { AccountStep, UserStep } from './rules/steps.ts';
import type { SlurmSyncReport } from './sync-accounts.ts';

/**
 * Writes the metrics of a run.
 *
 * @param cluster Undefined if the configuration could not be read.
 * @param report Undefined if nothing could be planned.
 * @throws as `writeSyncMetrics`
 */
export async function writeSlurmSyncMetrics(
  file: string,
  cluster: string | undefined,
  report: SlurmSyncReport | undefined,
  times: Pick<SyncRun, 'started' | 'seconds'>,
): Promise<void> {
  const success = new Map(
    cluster === undefined
      ? []
      : [[cluster, report?.error === undefined && report?.failed.length === 0]],
  );
  const run = { ...times, prefix: 'berth_slurm_sync_', success, people: report?.people };
  await writeSyncMetrics(file, run, report === undefined ? [] : planMetrics(report));
}

function planMetrics({ cluster, plan, skipped, commands, done }: SlurmSyncReport): Metric[] {
  const each = (count: number): Metric['value'] => new Map([[cluster, count]]);
  const planned = (kind: (AccountStep | UserStep)['kind']): Metric['value'] =>
    each(
      plan.steps
        .filter((step) => step.kind === kind)
        .reduce((sum, step) => sum + ('users' in step ? step.users : step.accounts).length, 0),
    );
  return [
    gauge(
      'planned_commands',
      'Commands of sacctmgr that the last run planned.',
      each(commands.length),
    ),
    gauge('done_commands', 'Commands of sacctmgr that the last run did.', each(done)),
    gauge('new_accounts', 'Accounts that the last run planned to add.', planned('add-accounts')),
    gauge(
      'new_associations',
      "Users' associations that the last run planned to add.",
      planned('add-users'),
    ),
    gauge(
      'closed_associations',
      'Associations that the last run planned to close, because their user has left.',
      planned('close'),
    ),
    gauge(
      'opened_associations',
      'Associations that the last run planned to open, because their user is back.',
      planned('open'),
    ),
    gauge(
      'kept_associations',
      'Associations that stay as they are although the directory says otherwise.',
      each(plan.kept.length),
    ),
    gauge('skipped_names', 'Groups and members that the last run left out.', each(skipped.length)),
  ];
}
