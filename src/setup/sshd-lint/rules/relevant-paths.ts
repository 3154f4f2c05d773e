import { forcedProgram, parseShellCommand } from './shell-command.ts';
import type { SshdOptions } from './options.ts';

/** Absolute paths in one account's options and passwd entry that decide what runs or who is admitted. */
export function relevantPaths(options: SshdOptions, shell: string | undefined): string[] {
  const { forceCommand, x11Forwarding, xauthLocation, trustedUserCaKeys, revokedKeys } = options;
  const paths = [
    shell,
    forceCommand === undefined ? undefined : forcedProgram(forceCommand),
    x11Forwarding ? xauthLocation : undefined,
    trustedUserCaKeys,
    ...revokedKeys,
    ...options.ownPrograms.map(([, path]) => path),
    ...keysCommands(options).map(({ program }) => program),
    ...options.setEnv.flatMap(pathsInAssignment),
  ];
  return paths.filter((path): path is string => path?.startsWith('/') === true);
}

export interface KeysCommand {
  readonly keyword: string;
  readonly program: string;
  /** The account that runs it. */
  readonly user: string;
}

/** The programs that sshd runs for keys and, if it trusts a certificate authority, for principals. */
export function keysCommands(options: SshdOptions): KeysCommand[] {
  const { authorizedKeysCommand, authorizedKeysCommandUser = '' } = options;
  const { authorizedPrincipalsCommand, authorizedPrincipalsCommandUser = '' } = options;
  const commands: readonly [string, string | undefined, string][] = [
    ['AuthorizedKeysCommand', authorizedKeysCommand, authorizedKeysCommandUser],
    [
      'AuthorizedPrincipalsCommand',
      options.trustedUserCaKeys === undefined ? undefined : authorizedPrincipalsCommand,
      authorizedPrincipalsCommandUser,
    ],
  ];
  if (!options.pubkeyAuthentication) return [];
  return commands.flatMap(([keyword, command, user]) => {
    const [program] = command === undefined ? [] : parseShellCommand(command).words;
    return program === undefined ? [] : [{ keyword, program, user }];
  });
}

/** Paths in `NAME=/one:/two` or `NODE_OPTIONS=--require=/one --import /two`. */
export function pathsInAssignment(assignment: string): string[] {
  return assignment.split(/[\s:=,;]+/).filter((part) => part.startsWith('/'));
}
