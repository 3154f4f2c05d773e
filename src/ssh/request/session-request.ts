import { BerthError } from '../../errors.ts';

/** What somebody wants who connected. */
export interface SessionRequest {
  /** `shell`: no command; `sftp`: sshd's sftp subsystem. */
  readonly kind: 'shell' | 'command' | 'sftp';
  /** Exactly as the client sent it: one string for a shell inside, never for one of the host. */
  readonly command?: string;
  readonly tty: boolean;
  /** `--profile` and `--config`: root's words, since only a ForceCommand line can hold them. */
  readonly profile?: string;
  readonly configFile?: string;
}

const sftpServer = /^(?:\S*\/)?(?:sftp-server|internal-sftp)(?:\s|$)/;

/**
 * Reads the two ways in which sshd calls: as ForceCommand (`login [--profile NAME] [--config FILE]`,
 * the client's command in SSH_ORIGINAL_COMMAND), and as the login shell of passwd (`-c COMMAND`, or
 * nothing). What follows `-c` is one string and never an option of ours.
 *
 * @param self Path of the login: where it is both, sshd has the login shell run it as the command.
 * @param itself the login's own path, as passwd and ForceCommand have it
 * @throws {BerthError} `usage`
 */
export function sessionRequest(
  args: readonly string[],
  originalCommand: string | undefined,
  tty: boolean,
  itself?: string,
): SessionRequest {
  if (args[0] === '-c' && args.length === 2) {
    // ForceCommand and passwd's shell together: sshd has the shell run ForceCommand. Its bare path has
    // no words of root's, and so gives nobody anything who sends it.
    return wanted(args[1] === itself ? originalCommand : args[1], tty);
  }
  const options: { profile?: string; configFile?: string } = {};
  const words = [...args];
  // Of a login shell that is called as `login -l`, as su and terminals do.
  if (words.length === 1 && (words[0] === '-l' || words[0] === '--login')) words.pop();
  while (words.length > 0) {
    const option = words.shift();
    const value = words.shift();
    if (value === undefined || value === '') throw usage(`${option ?? ''} needs a value`);
    if (option === '--profile') options.profile = value;
    else if (option === '--config') options.configFile = value;
    else throw usage(`unknown argument ${JSON.stringify(option)}`);
  }
  return { ...wanted(originalCommand, tty), ...options };
}

function wanted(command: string | undefined, tty: boolean): SessionRequest {
  if (command === undefined || command === '') return { kind: 'shell', tty };
  return { kind: sftpServer.test(command) ? 'sftp' : 'command', command, tty };
}

function usage(problem: string): BerthError {
  return new BerthError(problem, {
    code: 'usage',
    exit: 'usage',
    hint: 'As ForceCommand: login [--profile NAME] [--config FILE]; as login shell it is called by sshd.',
  });
}
