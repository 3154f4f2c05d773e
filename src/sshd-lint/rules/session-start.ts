import { forcedProgram, shellCommand } from './shell-words.ts';
import type { LoginProgram, SshdFinding, SshdSample } from './finding.ts';
import type { SshdOptions } from './options.ts';

/** How sshd starts what the user asks for; both can be true. */
export interface SessionStart {
  /** ForceCommand is Berth's login. */
  readonly forced: boolean;
  /** The shell in passwd is Berth's login. */
  readonly loginShell: boolean;
}

/** Shells that run nothing at all for whoever comes. */
const closedShells = /\/(?:nologin|false|true)$/;

/** Shells that read no file of the home for `-c`: POSIX reads ENV in interactive shells only. */
const plainShells = new Set(['sh', 'dash', 'ash', 'ksh', 'ksh93', 'mksh', 'busybox']);

/** What the other shells read before `-c COMMAND`, each when sshd runs it. */
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

/** The forced command's own faults, and what the shell does before it. */
export function sessionStartFindings(options: SshdOptions, sample: SshdSample): SshdFinding[] {
  const { forceCommand } = options;
  const { shell, login } = sample;
  const start = sessionStart(options, sample);
  const closing = `ForceCommand ${login.path}`;
  const replaced = shell === undefined ? undefined : sample.paths.get(shell)?.open;
  if (shell !== undefined && replaced !== undefined)
    return [
      {
        code: 'shell-writable',
        severity: 'door',
        message: `the shell of passwd runs whatever sshd starts, and ${replaced.message}`,
        closedBy: `usermod --shell ${login.path} USER`,
      },
    ];
  if (shell !== undefined && closedShells.test(shell)) return [];
  if (forceCommand === undefined) {
    if (start.loginShell) return [];
    return [
      {
        code: 'no-forced-command',
        severity: 'door',
        message: `${shell ?? 'the shell of passwd'} runs on the host: no ForceCommand, and no login shell of ours`,
        closedBy: closing,
      },
    ];
  }
  if (/^\s*internal-sftp(?:\s|$)/.test(forceCommand)) {
    const jailed = options.chrootDirectory !== undefined;
    return [
      {
        code: 'forced-command-internal-sftp',
        severity: jailed ? 'weakness' : 'door',
        message: jailed
          ? `sshd itself serves files of the host below ${options.chrootDirectory ?? ''}, outside of any session`
          : "sshd itself serves the host's files, outside of any session",
        closedBy: closing,
      },
    ];
  }
  const faults = forcedCommandFaults(forceCommand, start, sample);
  // With our login as the shell nothing of ForceCommand is read by another one.
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
  const { words, startsAnother, interpreted } = shellCommand(command);
  const options = words.slice(words.indexOf(program) + 1);
  if (/\$\{?SSH_ORIGINAL_COMMAND|\$\(|`|\beval\b/.test(command))
    return [
      {
        code: 'forced-command-user-text',
        severity: 'door',
        message: `a shell of the host reads text of the user in ForceCommand ${command}`,
        closedBy,
      },
    ];
  if (!program.startsWith('/'))
    return [
      {
        code: 'forced-command-relative',
        severity: 'door',
        message: `ForceCommand ${program} is looked for in the user's home and PATH`,
        closedBy,
      },
    ];
  if (!forced)
    return [
      {
        code: 'forced-command-other',
        severity: 'door',
        message: `ForceCommand is ${program}, which is not the installed login ${login.path}`,
        closedBy,
      },
    ];
  if (startsAnother || interpreted)
    return [
      {
        code: 'forced-command-metacharacters',
        severity: startsAnother ? 'door' : 'weakness',
        message: startsAnother
          ? `the user's shell runs another command of ForceCommand on the host, where the user makes the login end as it wants: ${command}`
          : `the user's shell interprets what stands in ForceCommand after the login: ${command}`,
        closedBy,
      },
    ];
  if (options.some((word) => /%[a-zA-Z]/.test(word)))
    return [
      {
        code: 'forced-command-token',
        severity: 'weakness',
        message: `sshd replaces no % in ForceCommand: ${options.join(' ')} reaches the login as it stands`,
        closedBy,
      },
    ];
  if (!/^(?: --(?:profile|config) \S+)*$/.test(options.map((word) => ` ${word}`).join('')))
    return [
      {
        code: 'forced-command-words',
        severity: 'weakness',
        message: `the login knows no such words: ${options.join(' ')}`,
        closedBy,
      },
    ];
  return [];
}

/** As the shell it runs what is forced inside, whatever it is; its own path alone stands for nothing. */
function forcedAndShell(command: string, shell: string): SshdFinding[] {
  if (command.trim() === shell) return [];
  return [
    {
      code: 'forced-command-words',
      severity: 'weakness',
      message: `the login is the shell, and runs ForceCommand ${command} inside in the place of what the user asks for`,
      closedBy: `ForceCommand ${shell}`,
    },
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
      {
        code: 'shell-unknown',
        severity: 'weakness',
        message: `${shell} runs the forced command; what it reads of the home before is not known`,
        closedBy,
      },
    ];
  return [
    {
      code: 'shell-reads-home',
      severity: 'door',
      message: `${shell} runs the forced command and reads ${files} first, on the host`,
      closedBy,
    },
  ];
}
