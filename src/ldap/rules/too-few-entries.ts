import { countText } from '../../count-text.ts';
import { BerthError } from '../../errors/berth-error.ts';
import type { LdapUsers } from './ldap-users.ts';
import type { NamespacePlan } from './namespace-annotations.ts';

/**
 * Namespaces that may be marked in one run regardless of `keep_percent`, for small sites: there, one person is more than
 * 20 percent. But several namespaces and none of their users in the directory are a wrong attribute or base.
 */
const fewMarks = 5;

/**
 * Refuses a directory that has become much smaller: its answer may be partial although it looked complete, for
 * example from a new replica, or because a filter misses a subtree.
 *
 * @param last The numbers of users and groups in the last run.
 * @param keepPercent `ldap.keep_percent`
 * @throws {BerthError} `ldap-too-few-entries`
 */
export function assertEnoughEntries(
  people: LdapUsers,
  last: Readonly<Record<string, string>>,
  plan: NamespacePlan,
  keepPercent: number,
): void {
  const compare = (what: string, count: number, before: number): void => {
    if (count * 100 >= before * keepPercent) return;
    throw tooFew(
      `the directory returned far fewer entries than in the last run: there are ${count} ${what}, and last time there were ${before}`,
      keepPercent,
    );
  };
  compare('users', people.users.size, Number(last.users ?? 0));
  compare('groups', people.groups, Number(last.groups ?? 0));
  const marks = plan.changes.filter(({ kind }) => kind === 'mark').length;
  const isNobodyLeft = marks > 1 && marks === plan.active;
  if (isNobodyLeft || (marks > fewMarks && marks * 100 > plan.active * (100 - keepPercent)))
    throw tooFew(
      `the directory no longer has the users of ${marks} of ${countText(plan.active, 'namespace')}`,
      keepPercent,
    );
}

function tooFew(found: string, keepPercent: number): BerthError {
  return new BerthError(found, {
    code: 'ldap-too-few-entries',
    hint: `Nothing was changed: fewer than ${keepPercent} percent (ldap.keep_percent) counts as incomplete. If that many accounts were really removed, run \`berth ldap-sync --accept-fewer\` once.`,
  });
}
