import type { DocumentError } from '../../cli/kit/document-parts.ts';
import { documentError, documentText } from '../../cli/kit/terminal.ts';
import type { LdapUsers } from '../../directory/rules/ldap-users.ts';
import type { AssociationPlan } from './rules/association-plan.ts';
import type { SkippedName } from './rules/desired-accounts.ts';
import type { SlurmSyncReport } from './sync-accounts.ts';

/** What the companion prints with `-o json`, by its kind. */
export interface Documents {
  /** `berth slurm-sync` */
  readonly SlurmSync: {
    readonly dryRun: boolean;
    /** URL of the directory's server that answered. */
    readonly server: string;
    /** Name of the Slurm cluster. */
    readonly cluster: string;
    /** How many were read. */
    readonly users: number;
    readonly groups: number;
    readonly refused: LdapUsers['refused'];
    readonly skipped: readonly SkippedName[];
    readonly steps: AssociationPlan['steps'];
    readonly kept: AssociationPlan['kept'];
    /** The arguments of sacctmgr(1), in order. */
    readonly commands: readonly (readonly string[])[];
    /** How many of them were run. */
    readonly done: number;
    /** What slurmdbd refused, each for one name. */
    readonly failures: readonly DocumentError[];
    readonly error?: DocumentError;
  };
}

/** For scripts. */
export function reportJson(report: SlurmSyncReport, dryRun: boolean): string {
  const { cluster, url, people, plan, skipped, commands, done, failed, error } = report;
  return documentText<Documents>('SlurmSync', {
    dryRun,
    server: url,
    cluster,
    users: people.users.size,
    groups: people.groupNames.length,
    refused: people.refused,
    skipped,
    steps: plan.steps,
    kept: plan.kept,
    commands,
    done,
    failures: failed.map(documentError),
    ...(error !== undefined && { error: documentError(error) }),
  });
}
