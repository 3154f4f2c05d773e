import { type LiveAccounts, type LiveAssociation } from './live-accounts.ts';
import type { PlannedLosses } from '../../../directory/rules/refuse-shrunken-directory.ts';
import type { LdapUsers } from '../../../directory/rules/ldap-users.ts';
import { caseIgnoreKey } from '../../../directory/rules/ldap-dn.ts';
import { planAccounts } from './account-plan.ts';
import { canBeAdded, type DesiredAccounts } from './desired-accounts.ts';
import type { AccountStep, UserStep } from './steps.ts';

/** An association that Berth has closed with `MaxSubmitJobs=0`, and the limit before; null for none. */
export interface ClosedAssociation extends Pick<LiveAssociation, 'account' | 'user' | 'partition'> {
  readonly before: number | null;
}

/** What a run leaves for the next one. */
export interface SyncMemory {
  /** How many the directory had. */
  readonly users: number;
  readonly groups: number;
  /** Accounts that groups have filled, also those whose group has been deleted since. */
  readonly accounts: readonly string[];
  readonly closed: readonly ClosedAssociation[];
  /** `ACCOUNT|USER` of whom groups had in the accounts and who was not closed since; undefined in a file of an earlier release. */
  readonly members?: readonly string[];
  /** Who is open because of a `cn` or `mail`, and for how many runs. */
  readonly held?: Readonly<Record<string, number>>;
}

/** An association that stays as it is, and the reason. */
export interface KeptAssociation {
  readonly account: string;
  readonly user: string;
  readonly reason: string;
}

export interface AssociationPlan {
  /** In the order that slurmdbd needs. */
  readonly steps: readonly (AccountStep | UserStep)[];
  readonly kept: readonly KeptAssociation[];
  readonly losses: PlannedLosses;
  /** What the next run has to know. */
  readonly memory: SyncMemory;
}

export interface PlanInput {
  readonly people: LdapUsers;
  readonly desired: DesiredAccounts;
  readonly live: LiveAccounts;
  readonly memory: SyncMemory | undefined;
  readonly keepUsers: readonly string[];
}

/**
 * Compares what should be with what is. Nothing is deleted: who is no longer in an account's groups may submit no jobs there,
 * and jobs that run or wait go on. Such an association is opened again only if Berth closed it.
 *
 * The steps come in the order that slurmdbd needs: accounts from the top, then users, then default accounts, and only then
 * what is closed.
 *
 * @throws {BerthError} `slurm-parent-unknown`
 */
export function planAssociations(input: PlanInput): AssociationPlan {
  const { people, desired, live, memory } = input;
  const ofUsers = live.associations.filter(({ user }) => user !== '');
  const found = Map.groupBy(ofUsers, ({ account, user }) => keyOf(account, user.toLowerCase()));
  const managed = new Set([...(memory?.accounts ?? []), ...desired.accounts.keys()]);
  for (const [name, { hasGroups }] of desired.accounts) if (!hasGroups) managed.delete(name);
  const byBerth = new Map((memory?.closed ?? []).map((one) => [closedKey(one), one]));
  const closed: ClosedAssociation[] = [];
  const kept: KeptAssociation[] = [];
  const add = new Batches<'add-users'>();
  const open = new Batches<'open'>();
  const close = new Batches<'close'>();
  const known = new Set(ofUsers.map(({ user }) => user.toLowerCase()));
  const first = new Map<string, string>();
  const members = new Set<string>();

  for (const [account, { users }] of desired.accounts)
    for (const user of users) {
      const key = keyOf(account, user);
      members.add(key);
      const isFirst = !first.has(user);
      if (isFirst) first.set(user, account);
      const present = found.get(key);
      if (present === undefined && canBeAdded(user))
        add.push({ kind: 'add-users', account, isDefault: isFirst && !known.has(user) }, user);
      for (const one of present ?? []) {
        if (one.maxSubmit !== 0) continue;
        const ours = byBerth.get(closedKey(one));
        const { partition } = one;
        if (ours !== undefined)
          open.push({ kind: 'open', account, partition, maxSubmit: ours.before }, one.user);
        else kept.push({ account, user, reason: 'MaxSubmitJobs=0 was not set by Berth' });
      }
    }

  const heldBefore = new Map(Object.entries(memory?.held ?? {}));
  const held = new Map<string, number>();
  // An account's coordinators add whom they like: these are no losses of the directory.
  const formerMembers = new Set(memory?.members);
  const formerAccounts = new Set(memory?.members && memory.accounts);
  let losses = 0;
  let active = 0;
  for (const [key, all] of found) {
    const [{ account, user } = { account: '', user: '' }] = all;
    if (!managed.has(account)) continue;
    const name = user.toLowerCase();
    const isOpen = all.some(({ maxSubmit }) => maxSubmit !== 0);
    const isMember = members.has(key);
    if (isOpen && (formerMembers.has(key) || !formerAccounts.has(account))) {
      members.add(key);
      active += 1;
    }
    if (isMember) continue;
    for (const one of all) {
      const ours = one.maxSubmit === 0 ? byBerth.get(closedKey(one)) : undefined;
      if (ours !== undefined) closed.push(ours);
    }
    if (!isOpen || input.keepUsers.includes(name)) continue;
    const hold = desired.accounts.get(account)?.hold;
    const reason =
      hold !== undefined || people.users.has(caseIgnoreKey(user))
        ? hold
        : people.possible.reasonToHold({ owner: user }, heldBefore, held);
    if (reason !== undefined) {
      kept.push({ account, user, reason });
      continue;
    }
    if (members.delete(key)) losses += 1;
    close.push({ kind: 'close', account }, user);
    for (const { partition, maxSubmit } of all)
      if (maxSubmit !== 0) closed.push({ account, user, partition, before: maxSubmit ?? null });
  }

  return {
    steps: [
      ...planAccounts(desired, live),
      ...add.all(({ isDefault }) => Number(!isDefault)),
      // One without a partition changes all of a user's associations with the account, so it comes first.
      ...open.all(({ partition }) => Number(partition !== '')),
      ...newDefaults(first, { desired, live, managed, known }),
      ...close.all(),
    ],
    kept,
    losses: { command: 'slurm-sync', what: 'association', losses, active },
    memory: {
      users: people.users.size,
      groups: people.groupNames.length,
      accounts: [...managed].sort(),
      closed,
      members: [...members],
      held: Object.fromEntries(held),
    },
  };
}

interface DefaultsInput extends Pick<PlanInput, 'desired' | 'live'> {
  readonly managed: ReadonlySet<string>;
  readonly known: ReadonlySet<string>;
}

/** For users whose default account is about to be closed, or who have none. A user's own choice stays. */
function newDefaults(
  first: ReadonlyMap<string, string>,
  { desired, live, managed, known }: DefaultsInput,
): UserStep[] {
  const steps = new Batches<'set-default'>();
  const present = new Map(
    [...live.defaults].map(([user, account]) => [user.toLowerCase(), { user, account }]),
  );
  for (const [name, account] of first) {
    if (!known.has(name)) continue;
    const { user, account: before } = present.get(name) ?? { user: name, account: '' };
    const isWanted = desired.accounts.get(before)?.users.has(name) === true;
    if (before === '' || (managed.has(before) && !isWanted))
      steps.push({ kind: 'set-default', account }, user);
  }
  return steps.all();
}

function keyOf(...parts: readonly string[]): string {
  return parts.join('|');
}

function closedKey({ account, user, partition }: Omit<ClosedAssociation, 'before'>): string {
  return keyOf(account, user.toLowerCase(), partition);
}

/** What has to be known while the steps of a plan are done: also what they open. Each association once. */
export function closedMeanwhile(
  before: readonly ClosedAssociation[],
  after: readonly ClosedAssociation[],
): readonly ClosedAssociation[] {
  return [...new Map([...before, ...after].map((one) => [closedKey(one), one])).values()];
}

/** Steps for single users, joined where only the user differs. */
class Batches<Kind extends UserStep['kind'], Step = Extract<UserStep, { kind: Kind }>> {
  readonly #steps = new Map<string, Step & { readonly users: string[] }>();

  push(step: Omit<Step, 'users'>, user: string): void {
    const key = JSON.stringify(step);
    const batch = this.#steps.get(key);
    if (batch === undefined) this.#steps.set(key, { ...step, users: [user] } as never);
    else batch.users.push(user);
  }

  all(order: (step: Step) => number = () => 0): Step[] {
    return [...this.#steps.values()].sort((one, other) => order(one) - order(other));
  }
}
