import { forcedProgram, parseShellCommand } from './shell-command.ts';
import {
  critical,
  type LoginProgram,
  type SshdFinding,
  type SshdSample,
  weakness,
} from './sshd-finding.ts';
import type { SshdOptions } from './options.ts';

/** How sshd starts a session; both can be true. */
export interface SessionStart {
  /** ForceCommand is Berth's login program. */
  readonly forced: boolean;
  /** The shell in passwd is Berth's login program. */
  readonly loginShell: boolean;
}

/** Shells that refuse every login. */
const closedShells = /\/(?:nologin|false|true)$/;

/** Shells that read no file in the home for `-c`: POSIX reads ENV in interactive shells only. */
const plainShells = new Set(['sh', 'dash', 'ash', 'ksh', 'ksh93', 'mksh', 'busybox']);

/** What the other shells read before `-c COMMAND` when sshd starts them. */
const readsAtStart: Readonly<Record<string, string>> = {
  bash: '~/.bashrc and BASH_ENV',
  rbash: '~/.bashrc and BASH_ENV',
  zsh: '~/.zshenv',
  csh: '~/.cshrc',
  tcsh: '~/.tcshrc or ~/.cshrc',
  fish: '~/.config/fish/config.fish',
};

export function sessionStart(
  { forceCommand }: Pick<SshdOptions, 'forceCommand'>,
  { shell, login }: Pick<SshdSample, 'shell' | 'login'>,
): SessionStart {
  const program = forceCommand === undefined ? undefined : forcedProgram(forceCommand);
  return {
    forced: program !== undefined && isLogin(program, login),
    loginShell: shell !== undefined && isLogin(shell, login),
  };
}

function isLogin(program: string, { path, aliases }: LoginProgram): boolean {
  return program === path || aliases.includes(program);
}

/** Findings about the forced command, and about what the shell reads before it. */
export function sessionStartFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const { forceCommand } = options;
  const { shell, login } = sample;
  const start = sessionStart(options, sample);
  const closing = `ForceCommand ${login.path}`;
  const replaced = shell === undefined ? undefined : sample.paths.get(shell)?.open;
  if (shell !== undefined && replaced !== undefined)
    return [
      critical(
        'shell-writable',
        `the shell in passwd runs everything that sshd starts, and ${replaced.message}`,
        `usermod --shell ${login.path} USER`,
      ),
    ];
  if (shell !== undefined && closedShells.test(shell)) return [];
  if (forceCommand === undefined) {
    if (start.loginShell) return [];
    return [
      critical(
        'no-forced-command',
        `${shell ?? 'the shell in passwd'} runs on the host: there is no ForceCommand, and the shell is not Berth's login program`,
        sample.rootLogsIn
          ? `${closing} in a Match block for users of sessions, or an sshd of their own (berth sshd new): for everybody, it would lock root out`
          : closing,
      ),
    ];
  }
  if (/^\s*internal-sftp(?:\s|$)/.test(forceCommand)) {
    const jailed = options.chrootDirectory !== undefined;
    return [
      (jailed ? weakness : critical)(
        'forced-command-internal-sftp',
        jailed
          ? `sshd itself serves files of the host below ${options.chrootDirectory ?? ''}, outside of any session`
          : "sshd itself serves the host's files, outside of any session",
        closing,
      ),
    ];
  }
  const faults = forcedCommandFaults(forceCommand, start, sample);
  // If the login program is the shell, no other shell reads ForceCommand.
  return start.loginShell ? faults : [...faults, ...shellFindings(shell, login)];
}

function forcedCommandFaults(
  command: string,
  { forced, loginShell }: SessionStart,
  { login, shell }: Pick<SshdSample, 'login' | 'shell'>,
): SshdFinding[] {
  if (loginShell) return forcedAndShell(command, shell ?? login.path);
  const program = forcedProgram(command) ?? '';
  const closedBy = `ForceCommand ${login.path} [--profile NAME]`;
  const { words, startsAnother, interpreted } = parseShellCommand(command);
  const options = words.slice(words.indexOf(program) + 1);
  if (/\$\{?SSH_ORIGINAL_COMMAND|\$\(|`|\beval\b/.test(command))
    return [
      critical(
        'forced-command-user-text',
        `ForceCommand passes text from the user to a shell of the host: ${command}`,
        closedBy,
      ),
    ];
  if (!program.startsWith('/'))
    return [
      critical(
        'forced-command-relative',
        `ForceCommand ${program} is looked up in the user's home and PATH`,
        closedBy,
      ),
    ];
  if (!forced)
    return [
      critical(
        'forced-command-other',
        `ForceCommand is ${program}, which is not the installed login program ${login.path}`,
        closedBy,
      ),
    ];
  if (startsAnother || interpreted)
    return [
      (startsAnother ? critical : weakness)(
        'forced-command-metacharacters',
        startsAnother
          ? `ForceCommand has more than one command: the user's shell runs the others on the host, and users can make the login program exit: ${command}`
          : `the user's shell interprets special characters after the login program in ForceCommand: ${command}`,
        closedBy,
      ),
    ];
  if (options.some((word) => /%[a-zA-Z]/.test(word)))
    return [
      weakness(
        'forced-command-token',
        `sshd does not expand % in ForceCommand: the login program gets ${options.join(' ')} unchanged`,
        closedBy,
      ),
    ];
  if (!/^(?: --(?:profile|config) \S+)*$/.test(options.map((word) => ` ${word}`).join('')))
    return [
      weakness(
        'forced-command-arguments',
        `the login program does not accept these arguments: ${options.join(' ')}`,
        closedBy,
      ),
    ];
  return [];
}

/** As the shell, the login program runs ForceCommand inside, except for its own path, which means no command. */
function forcedAndShell(command: string, shell: string): SshdFinding[] {
  if (command.trim() === shell) return [];
  const profile = / --profile (\S+)/.exec(command)?.[1];
  const byRule =
    profile === undefined
      ? ''
      : `, and \`rules: [{ profile: ${profile}, ports: [PORT] }]\` in ssh.yml, because the rules choose the profile`;
  return [
    weakness(
      'forced-command-arguments',
      `the login program is the shell, so sessions run ForceCommand ${command} inside instead of what the user asked for`,
      `ForceCommand ${shell}${byRule}`,
    ),
  ];
}

function shellFindings(shell: string | undefined, login: LoginProgram): SshdFinding[] {
  if (shell === undefined) return [];
  const name = (shell === '' ? '/bin/sh' : shell).split('/').at(-1) ?? '';
  if (plainShells.has(name)) return [];
  const closedBy = `usermod --shell ${login.path} USER`;
  const files = readsAtStart[name];
  if (files === undefined)
    return [
      weakness(
        'shell-unknown',
        `${shell} runs the forced command, and Berth does not know which files in the user's home it reads first`,
        closedBy,
      ),
    ];
  return [
    critical(
      'shell-reads-home',
      `${shell} runs the forced command and first reads ${files}, on the host`,
      closedBy,
    ),
  ];
}
