import {
  configProblemsError,
  type Locate,
  noPosition,
  type ProblemMessage,
} from '../../../config/schema/config-error.ts';
import { deepFreeze } from '../../../config/schema/deep-freeze.ts';
import { schemaMessages } from '../../../config/schema/schema-messages.ts';
import { slurmAccountsSchema } from './slurm-accounts-schema.ts';

/** Which groups of the directory are which accounts of a Slurm cluster. */
export interface SlurmAccountsSettings {
  readonly cluster: string;
  /** Default: Slurm's own. */
  readonly slurmConf: string | undefined;
  /** Users of Slurm who are never limited, such as those of services that the directory does not have. */
  readonly keepUsers: readonly string[];
  readonly accounts: readonly AccountRule[];
}

export interface AccountRule {
  /** With a `*`, there is an account for each group; it stands for what the group's `*` stands for. */
  readonly account: string;
  /** Names of groups, each with at most one `*`. */
  readonly groups: readonly string[];
  /** Undefined leaves the parent of an account as it is. */
  readonly parent: string | undefined;
  /** Empty leaves the QOS of an account as they are. */
  readonly qos: readonly string[];
  readonly defaultQos: string | undefined;
}

/**
 * Checks the section `slurm_accounts` of berth.yml.
 *
 * @throws BerthError `slurm-accounts-invalid`, with the path, line and column of each problem
 */
export function parseSlurmAccounts(
  section: unknown,
  file: string,
  place: Locate = noPosition,
): SlurmAccountsSettings {
  const parsed = slurmAccountsSchema.safeParse(section, { reportInput: true });
  const invalid = (problems: readonly ProblemMessage[]): Error =>
    configProblemsError('slurm-accounts-invalid', { file, place }, problems);
  if (!parsed.success)
    throw invalid(schemaMessages(parsed.error, slurmAccountsSchema, ['slurm_accounts']));
  const { cluster, slurm_conf: slurmConf, keep_users: keepUsers = [], accounts } = parsed.data;
  const rules = accounts.map(({ account, groups = [], parent, qos = [], default_qos }) => ({
    account,
    groups,
    parent,
    qos,
    defaultQos: default_qos,
  }));
  const problems = rules.flatMap((rule, index) =>
    ruleProblems(rule, rules).map(([key, complaint]) => {
      const path = ['slurm_accounts', 'accounts', index, key];
      return { path, text: `slurm_accounts.accounts.${index + 1}.${key} ${complaint}` };
    }),
  );
  if (problems.length > 0) throw invalid(problems);
  return deepFreeze({ cluster, slurmConf, keepUsers, accounts: rules });
}

function ruleProblems(
  rule: AccountRule,
  rules: readonly AccountRule[],
): (readonly [key: string, complaint: string])[] {
  const { account, groups, qos, defaultQos } = rule;
  const problems: (readonly [string, string])[] = [];
  const isPattern = account.includes('*');
  if (isPattern && (groups.length === 0 || !groups.every((group) => group.includes('*'))))
    problems.push(['groups', 'must name groups with a `*`, since `account` has one']);
  if (defaultQos !== undefined && !qos.includes(defaultQos))
    problems.push(['default_qos', 'must be one of `qos`']);
  // Of other accounts the first rule counts.
  const byName = new Map([...rules.toReversed(), rule].map((one) => [one.account, one]));
  if (isBelowItself(account, byName))
    problems.push(['parent', 'must not be below the account itself']);
  return problems;
}

/** Whether the parents of an account lead to one of them again. */
export function isBelowItself(
  name: string,
  accounts: ReadonlyMap<string, Pick<AccountRule, 'parent'>>,
): boolean {
  const seen = new Set<string>();
  for (let at: string | undefined = name; at !== undefined; at = accounts.get(at)?.parent) {
    if (seen.has(at)) return true;
    seen.add(at);
  }
  return false;
}
