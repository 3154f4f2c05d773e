import { bundledArgv, type BundledProgram } from '../../config/schema/bundled-transfer-argv.ts';
import { BerthError } from '../../system/errors/berth-error.ts';

/** What a client asked for. */
export interface SessionRequest {
  /** `shell`: no command; `sftp`: sshd's sftp subsystem. */
  readonly kind: 'shell' | 'command' | 'sftp';
  /** Exactly as the client sent it. It is passed to a shell inside, never to a shell on the host. */
  readonly command?: string;
  readonly tty: boolean;
  /** It is the user's shell, and runs a forced command, itself: sshd then treats it as one that runs a command. */
  readonly isForced?: boolean;
  /** What runs in place of a shell with the command; only Berth itself asks for it. */
  readonly argv?: readonly string[];
  /** `--profile` and `--config`: from root, since only a ForceCommand line can contain them. */
  readonly profile?: string;
  readonly configFile?: string;
}

/** The options of the login program, each with a value. */
export const loginOptions = { '--profile': 'profile', '--config': 'configFile' } as const;

const sftpServer = /^(?:\S*\/)?(?:sftp-server|internal-sftp)(?:\s|$)/;

/**
 * Parses the two ways in which sshd runs the login program: as ForceCommand (`login [--profile NAME]
 * [--config FILE]`, with the client's command in SSH_ORIGINAL_COMMAND), and as the shell in passwd (`-c COMMAND`,
 * or no arguments). The argument after `-c` is one string and is never parsed as options.
 *
 * @param itself Path of the login program. If it is both shell and ForceCommand, sshd runs it as `login -c login`.
 * @throws {BerthError} `usage`
 */
export function sessionRequest(
  args: readonly string[],
  originalCommand: string | undefined,
  tty: boolean,
  itself?: string,
): SessionRequest {
  if (args[0] === '-c' && args.length === 2) {
    // ForceCommand and shell in one: see `itself`. A client that sends this path as its command gains nothing,
    // because without options it means the same as no command.
    if (args[1] === itself) return { ...wanted(originalCommand, tty), isForced: true };
    return wanted(args[1], tty);
  }
  const options: { profile?: string; configFile?: string } = {};
  const rest = [...args];
  // su and terminals start a login shell as `login -l`.
  if (rest.length === 1 && (rest[0] === '-l' || rest[0] === '--login')) rest.pop();
  while (rest.length > 0) {
    const option = rest.shift();
    const value = rest.shift();
    if (!isLoginOption(option)) throw usage(`unknown argument ${JSON.stringify(option)}`);
    if (value === undefined || value === '') throw usage(`${option} needs a value`);
    options[loginOptions[option]] = value;
  }
  return { ...wanted(originalCommand, tty), ...options };
}

function isLoginOption(word: string | undefined): word is keyof typeof loginOptions {
  return word !== undefined && Object.hasOwn(loginOptions, word);
}

function wanted(command: string | undefined, tty: boolean): SessionRequest {
  if (command === undefined || command === '') return { kind: 'shell', tty };
  return { kind: sftpServer.test(command) ? 'sftp' : 'command', command, tty };
}

function usage(problem: string): BerthError {
  return new BerthError('usage', problem, {
    hint: 'In sshd_config: ForceCommand /usr/lib/berth/shell/login [--profile NAME] [--config FILE]. As the login shell in passwd, it takes no options.',
  });
}

/** sshd's own port, the last word of SSH_CONNECTION. */
export function serverPort(connection: string | undefined): number | undefined {
  const port = Number(connection?.split(' ')[3]);
  return Number.isInteger(port) ? port : undefined;
}

/** Whether a shell in passwd is Berth's login program, which no image contains. */
export function isLoginShell(shell: string): boolean {
  return shell.endsWith('/shell/login');
}

/** The umask that the OCI runtime sets for each process that it starts in a container. */
const umaskInside = 0o022;

/**
 * The argv inside the container, as sshd would build it: the user's shell as a login shell, or with the
 * client's command as its one argument (session.c, do_child). Every login shell accepts `-l`.
 *
 * @param umask The login's umask (pam_umask); without this the runtime's own would apply.
 */
export function sessionArgv(
  { kind, command, argv: own }: SessionRequest,
  inside: { readonly shell: string; readonly hasBundledTools: boolean },
  umask = umaskInside,
): string[] {
  const octal = umask === umaskInside ? undefined : umask.toString(8).padStart(3, '0');
  if (kind === 'sftp' && command !== undefined)
    return sftpArgv(command, inside.hasBundledTools, octal);
  if (own !== undefined) return [...own];
  const argv =
    kind === 'shell' || command === undefined
      ? [inside.shell, '-l']
      : [inside.shell, '-c', command];
  return octal === undefined ? argv : ['/bin/sh', '-c', `umask ${octal}; exec "$0" "$@"`, ...argv];
}

function sftpArgv(command: string, bundled: boolean, umask: string | undefined): string[] {
  const [, ...configured] = command.trim().split(/\s+/);
  // The last -u applies: the one from sshd_config, if there is one.
  const options = [...(umask === undefined ? [] : ['-u', umask]), ...configured];
  return bundled
    ? bundledArgv('sftp-server', options)
    : ['/usr/lib/openssh/sftp-server', ...options];
}

/** The program that a file transfer needs inside; undefined if the request is no file transfer. */
export function transferProgram({
  kind,
  command = '',
}: SessionRequest): BundledProgram | undefined {
  if (kind === 'sftp') return 'sftp-server';
  return /^scp\s/.test(command) ? 'scp' : undefined;
}
