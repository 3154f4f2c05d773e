import { execFile, execFileSync } from 'node:child_process';

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

/** Names are a comfort: a directory service that hangs costs so many milliseconds at most. */
const nameServiceMs = 2_000;

/**
 * Lines of group(5) for these GIDs, without members: who is one, the kernel knows. A GID that NSS does
 * not know has none.
 */
export function groupLines(gids: readonly number[]): Promise<string[]> {
  if (gids.length === 0) return Promise.resolve([]);
  const options = { env: {}, timeout: nameServiceMs, encoding: 'utf8' } as const;
  return new Promise((resolve) => {
    // It fails where one of them has no name, and prints the others.
    execFile('/usr/bin/getent', ['group', ...gids.map(String)], options, (_error, stdout) =>
      resolve(
        stdout.split('\n').flatMap((line) => {
          const [name, , id] = line.split(':');
          return name === undefined || id === undefined ? [] : [`${name}:x:${id}:`];
        }),
      ),
    );
  });
}
