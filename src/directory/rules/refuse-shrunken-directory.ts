import { countText } from '../../system/text/count-text.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { LdapUsers } from './ldap-users.ts';

/** What a run would take from people whom the directory no longer has. */
export interface PlannedLosses {
  readonly command: 'ldap-sync' | 'slurm-sync';
  /** What is taken, such as `namespace`. */
  readonly what: string;
  /** How many a run would take, of how many. */
  readonly losses: number;
  readonly active: number;
}

/**
 * Losses that one run may cause regardless of `keep_percent`, for small sites: there, one person is more than
 * 20 percent. But several, and nobody left, are a wrong attribute or base.
 */
const fewLosses = 5;

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
  { command, what, losses, active }: PlannedLosses,
  keepPercent: number,
): void {
  const tooFew = (found: string): BerthError =>
    new BerthError('ldap-too-few-entries', found, {
      hint: `Nothing was changed: fewer than ${keepPercent} percent (ldap.keep_percent) counts as incomplete. If that many accounts were really removed, run \`berth ${command} --accept-fewer\` once.`,
    });
  const compare = (kind: string, count: number, before: number): void => {
    if (count * 100 >= before * keepPercent) return;
    throw tooFew(
      `the directory returned far fewer entries than in the last run: there are ${count} ${kind}, and last time there were ${before}`,
    );
  };
  compare('users', people.users.size, Number(last.users ?? 0));
  compare('groups', people.groupNames.length, Number(last.groups ?? 0));
  const isNobodyLeft = losses > 1 && losses === active;
  if (isNobodyLeft || (losses > fewLosses && losses * 100 > active * (100 - keepPercent)))
    throw tooFew(
      `the directory no longer has the users of ${losses} of ${countText(active, what)}`,
    );
}
