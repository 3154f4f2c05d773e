import type { CatalogueEntries } from './entry.ts';

/** Accounts, groups, home directories, subordinate IDs. */
export const accountErrors = {
  'user-unknown': {
    what: 'The operating system has no account of this name or UID.',
    why: 'The account was deleted or the name is misspelled. The error is the same if sssd or LDAP is down.',
    next: 'Run `getent passwd NAME`. If it prints nothing for other users of the directory either, check `systemctl status sssd`.',
  },
  'user-name-invalid': {
    what: 'The value given as user name cannot be a login name.',
    why: 'OnDemand’s user_map returned an empty name or one with spaces or control characters, or an argument is in the wrong place.',
    next: 'Give the name as `getent passwd` prints it; check user_map in ood_portal.yml.',
  },
  'user-name-not-canonical': {
    what: 'The account exists, but the operating system spells its name differently. Nothing was done, because each spelling would get its own namespace.',
    why: 'The directory ignores case and the name was typed with different capitalization, the name has a domain suffix, or two accounts share one UID.',
    next: 'Make user_map in ood_portal.yml return the name that `getent passwd UID` prints.',
  },
  'uid-below-minimum': {
    what: 'The UID of the account is below `minimum_uid`. System accounts get no namespace, no credentials and no sessions.',
    why: 'root or a service account logged in to the portal, or was named for `berth init login-node`, or people at this site have low UIDs.',
    next: 'If the account belongs to a person, lower `minimum_uid` in berth.yml.',
  },
  'nss-failed': {
    what: 'An account could not be looked up in NSS.',
    why: 'sssd or the LDAP server is down or slow.',
    next: 'Run `getent passwd NAME` and `systemctl status sssd`. The next login tries again.',
  },
  'group-names-missing': {
    what: 'NSS returned no names for some of the user’s groups, so no profile could be chosen.',
    why: 'The directory service is down, or the user is in a group whose GID has no name.',
    next: 'Run `id NAME`: each group needs a name. Then log in again.',
  },
  'group-empty': {
    what: '`berth sshd lint --group` found no member of this group, so there is nothing to check.',
    why: 'The group is only used as a primary group, so `getent group` lists no members, or its name is misspelled.',
    next: 'Name an account with `--user` instead.',
  },
  'home-invalid': {
    what: 'The home directory of the account is `/`, empty or not an absolute path. Nothing is written there.',
    why: 'The entry in passwd or LDAP is incomplete.',
    next: 'Run `getent passwd NAME` and set the home directory.',
  },
  'home-missing': {
    what: 'The home directory of the user does not exist or cannot be entered, so no kubeconfig was written.',
    why: 'The file system of the homes is not mounted on this host, the home was not created yet, or its mode excludes its owner.',
    next: 'Run `sudo -u NAME ls -ld HOME`. Mount the file system or create the home, then let the user choose Help > Restart Web Server.',
  },
  'subid-uid-below-first': {
    what: 'A user gets no subordinate IDs, because the UID is below `--first-uid`. Without `--keep-going` nothing was written.',
    why: 'The site has users whose UIDs are below `--first-uid`.',
    next: 'Use the values that the hint suggests, the same on every node. Or leave these users out with `--min-uid`.',
  },
  'subid-uid-does-not-fit': {
    what: 'A user gets no subordinate IDs, because the range for this UID would be above the last possible ID (4294967295).',
    why: 'High UIDs, such as those from Active Directory, with 65536 IDs each.',
    next: 'Use the values that the hint suggests: a lower `--base`, a higher `--first-uid` or a smaller `--size`.',
  },
  'subid-overlaps-entry': {
    what: 'A user gets no subordinate IDs, because the range overlaps one that another account has in /etc/subuid or /etc/subgid.',
    why: '`useradd` has assigned ranges at or above `--base`.',
    next: 'Use the `--base` that the hint suggests, on every node.',
  },
  'subid-overlaps-account': {
    what: 'A user gets no subordinate IDs, because the range contains the UID or GID of an existing account or group.',
    why: 'The site has accounts or groups with very high IDs.',
    next: 'Use the `--base` that the hint suggests, on every node.',
  },
  'subid-entries-overlap': {
    what: 'Two entries of /etc/subuid or /etc/subgid overlap. Two users with the same subordinate IDs can open each other’s files.',
    why: 'The files were edited by hand or merged from several hosts.',
    next: 'Correct one of the two entries. The owner of that entry must then run `podman system migrate`, and files in that user’s storage may need a new owner.',
  },
  'subid-entry-holds-account': {
    what: 'A subordinate range contains the UID or GID of an existing account or group. The user of the range can act as that account inside containers.',
    why: 'The range was assigned before the account was created, or it was edited by hand.',
    next: 'Move the range or the account.',
  },
  'subid-entry-malformed': {
    what: 'A line of /etc/subuid or /etc/subgid does not have the form NAME:START:COUNT.',
    why: 'The file was edited by hand.',
    next: 'Correct the line that is named.',
  },
  'subid-entry-beyond-ids': {
    what: 'A subordinate range goes beyond the last possible ID (4294967295).',
    why: 'Start or count was mistyped.',
    next: 'Correct the line that is named.',
  },
  'subid-groups-do-not-fit': {
    what: 'A user is in more supplementary groups than the kernel accepts in one ID map. The remaining groups show as nogroup in sessions.',
    why: 'A gid_map has at most 340 lines and less than 4096 bytes, and each group needs a line: 338 groups with GIDs of five digits, about 214 with ten.',
    next: 'Remove groups from the user, or accept that the named ones are not mapped.',
  },
  'subid-former-group': {
    what: 'A user has left a group, but can still map it in sessions.',
    why: 'The user left the group after `berth subid apply --groups` wrote its line into /etc/subgid.',
    next: 'Remove that line from /etc/subgid.',
  },
} as const satisfies CatalogueEntries;
