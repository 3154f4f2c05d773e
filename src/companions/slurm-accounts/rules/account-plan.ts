import { BerthError } from '../../../system/errors/berth-error.ts';
import type { LiveAccounts } from './live-accounts.ts';
import type { DesiredAccount, DesiredAccounts } from './desired-accounts.ts';
import type { AccountStep } from './steps.ts';

/**
 * The steps for accounts, from the top of their tree: so the parent of each is there before it, and none is moved
 * below itself on the way.
 *
 * @throws {BerthError} `slurm-parent-unknown`
 */
export function planAccounts(
  { accounts }: DesiredAccounts,
  { associations }: LiveAccounts,
): AccountStep[] {
  const live = new Map(
    associations.flatMap((one) => (one.user === '' ? [[one.account, one] as const] : [])),
  );
  const steps: AccountStep[] = [];
  for (const [name, account] of fromTheTop(accounts)) {
    const { parent } = account;
    if (parent !== undefined && !accounts.has(parent) && !live.has(parent))
      throw new BerthError(
        'slurm-parent-unknown',
        `account ${name}: its parent ${parent} does not exist`,
      );
    const present = live.get(name);
    if (present === undefined)
      join(steps, { kind: 'add-accounts', parent: parent ?? 'root' }, name);
    else if (parent !== undefined && present.parent !== parent)
      join(steps, { kind: 'set-parent', parent }, name);
  }
  for (const [name, { qos, defaultQos }] of accounts) {
    const present = live.get(name);
    const isDifferent =
      (qos.length > 0 && sorted(qos) !== sorted(present?.qos ?? [])) ||
      (defaultQos !== undefined && present?.defaultQos !== defaultQos);
    if (isDifferent) join(steps, { kind: 'set-qos', qos, defaultQos }, name);
  }
  return steps;
}

function sorted(names: readonly string[]): string {
  return [...new Set(names)].sort().join(',');
}

function fromTheTop(accounts: DesiredAccounts['accounts']): (readonly [string, DesiredAccount])[] {
  const above = (name: string): number => {
    const parent = accounts.get(name)?.parent;
    return parent === undefined ? 0 : 1 + above(parent);
  };
  const depths = new Map([...accounts.keys()].map((name) => [name, above(name)]));
  return [...accounts].sort(([one], [other]) => (depths.get(one) ?? 0) - (depths.get(other) ?? 0));
}

type WithoutAccounts<Step> = Step extends AccountStep ? Omit<Step, 'accounts'> : never;

/** Into the last step, if it does the same. */
function join(steps: AccountStep[], step: WithoutAccounts<AccountStep>, account: string): void {
  const last = steps.at(-1);
  const { accounts = [], ...rest } = last ?? {};
  const isSame =
    JSON.stringify({ ...step, accounts: 0 }) === JSON.stringify({ ...rest, accounts: 0 });
  if (isSame) steps[steps.length - 1] = { ...step, accounts: [...accounts, account] };
  else steps.push({ ...step, accounts: [account] });
}
