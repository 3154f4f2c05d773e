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
  const count = (name: string, help: string, value: number): Metric =>
    gauge(name, help, new Map([[cluster, value]]));
  const planned = (kind: (AccountStep | UserStep)['kind']): number =>
    plan.steps
      .filter((step) => step.kind === kind)
      .reduce((sum, step) => sum + ('users' in step ? step.users : step.accounts).length, 0);
  return [
    count('planned_commands', 'Commands of sacctmgr that the last run planned.', commands.length),
    count('done_commands', 'Commands of sacctmgr that the last run did.', done),
    count('new_accounts', 'Accounts that the last run planned to add.', planned('add-accounts')),
    count(
      'new_associations',
      "Users' associations that the last run planned to add.",
      planned('add-users'),
    ),
    count(
      'closed_associations',
      'Associations that the last run planned to close, because their user has left.',
      planned('close'),
    ),
    count(
      'opened_associations',
      'Associations that the last run planned to open, because their user is back.',
      planned('open'),
    ),
    count(
      'kept_associations',
      'Associations that stay as they are although the directory says otherwise.',
      plan.kept.length,
    ),
    count('skipped_names', 'Groups and members that the last run left out.', skipped.length),
  ];
}
