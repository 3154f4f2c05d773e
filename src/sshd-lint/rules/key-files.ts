import type { SshdOptions } from './options.ts';

/** An account that sshd admits, with its effective options. */
export interface AdmittedAccount {
  readonly user: string;
  /** How many other accounts it stands for. */
  readonly alike: number;
  readonly options: Pick<SshdOptions, 'authorizedKeysFiles'>;
}

/** Files of AuthorizedKeysFile that several accounts have: their paths contain neither name nor home. */
export function sharedKeyFiles(accounts: readonly AdmittedAccount[]): Set<string> {
  const users = new Map<string, Map<string, number>>();
  for (const { user, alike, options } of accounts)
    for (const file of options.authorizedKeysFiles.filter(isTheSameForAll))
      users.set(file, (users.get(file) ?? new Map<string, number>()).set(user, 1 + alike));
  const several = [...users].filter(
    ([, counts]) => [...counts.values()].reduce((sum, count) => sum + count, 0) > 1,
  );
  return new Set(several.map(([file]) => file));
}

/** `%%` is a percent sign; a relative path starts in the home. */
function isTheSameForAll(file: string): boolean {
  return file.startsWith('/') && !/%[uhU]/.test(file.replaceAll('%%', ''));
}
