import { execFileSync } from 'node:child_process';

/**
 * Names of all groups of a user, the primary one too, as NSS has them (id(1)); of whoever runs this
 * process where no name is given.
 */
export function groupNamesOf(...user: [name?: string]): string[] {
  const names = execFileSync('/usr/bin/id', ['-Gn', '-z', '--', ...user.filter(isText)], {
    env: { PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
  });
  return names.split('\0').filter((name) => name !== '');
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}
