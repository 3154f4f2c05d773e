import type { SshdDirective } from './directives.ts';
import type { SshdOptions } from './options.ts';
import { userOfEntry } from './patterns.ts';
import type { SshdFinding } from './sshd-finding.ts';

/** What NSS does not tell. */
export interface UnlistedAccounts {
  /** Services that do not list all their accounts; empty if NSS lists all accounts. */
  readonly services: readonly string[];
  /** Names of groups that do not exist. */
  readonly missingGroups: ReadonlySet<string>;
}

/**
 * Reports that sshd may admit accounts that nobody can list, so that they were not evaluated. AllowUsers with names is
 * looked up; the people of a pattern are not known, nor those whose primary group is named. DenyUsers and DenyGroups
 * count as if they denied nobody.
 *
 * @param base Options for a connection that no Match names.
 */
export function unlistedFindings(
  { services, missingGroups }: UnlistedAccounts,
  base: Pick<SshdOptions, 'allowUsers' | 'allowGroups'>,
  directives: readonly SshdDirective[],
): SshdFinding[] {
  if (services.length === 0) return [];
  const open = (keyword: string, isOpen: (entry: string) => boolean) =>
    directives.find((one) => one.keyword === keyword && one.args.some(isOpen));
  const users = open('allowusers', (entry) => isPattern(userOfEntry(entry)));
  const groups = open('allowgroups', (entry) => isPattern(entry) || !missingGroups.has(entry));
  const closed =
    (base.allowUsers.length > 0 && users === undefined) ||
    (base.allowGroups.length > 0 && groups === undefined);
  if (closed) return [];
  const [line] = [groups, users].filter((one) => one !== undefined);
  const names = (line?.args ?? []).map((entry) => JSON.stringify(entry)).join(' ');
  const whom =
    line === undefined
      ? 'sshd admits every account'
      : `${line === groups ? 'AllowGroups' : 'AllowUsers'} ${names} may admit more accounts than were found`;
  return [
    {
      code: 'accounts-not-evaluated',
      severity: 'advice',
      message: `${whom}, and NSS does not list all accounts of ${services.join(', ')}, so those were not checked`,
      closedBy:
        'run berth sshd lint --user NAME for one of these accounts of each shell and group; remove a service without accounts from passwd in /etc/nsswitch.conf',
      ...(line === undefined ? {} : { place: `${line.file}:${line.line}` }),
    },
  ];
}

/** Whether an entry names more than one user or group. */
export function isPattern(entry: string): boolean {
  return /[*?]/.test(entry);
}
