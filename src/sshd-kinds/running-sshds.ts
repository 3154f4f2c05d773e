import { executablePath, processArguments, runningProcesses } from '../system/processes.ts';

/** An sshd that accepts connections. */
export interface RunningSshd {
  readonly pid: number;
  /** The program that it runs; ` (deleted)` is appended if it was replaced since then. */
  readonly program: string;
  /** The file of its option `-f`; sshd's own default without it. */
  readonly config: string;
  /** The file of its option `-o PidFile=`, which it writes again when it is reloaded. */
  readonly pidFile?: string | undefined;
}

/** All listening sshds of root in this PID namespace. Other users' processes could claim to be one. */
export function runningSshds(): RunningSshd[] {
  return [...runningProcesses((uid) => uid === 0)]
    .filter(({ pids }) => pids.length === 1)
    .flatMap(({ pid }) => {
      const program = executablePath(pid) ?? '';
      if (!/\/sshd(?: \(deleted\))?$/.test(program)) return [];
      const args = listenerArguments(processArguments(pid));
      return args === undefined
        ? []
        : [{ pid, program, config: configOf(args), pidFile: pidFileOf(args) }];
    });
}

/**
 * The arguments of a listener. sshd rewrites them: `sshd: /usr/sbin/sshd -D -f FILE [listener] 0 of 10-100 startups`.
 * A process for one connection is `sshd: alice [priv]`.
 */
function listenerArguments(args: readonly string[]): readonly string[] | undefined {
  const [first = ''] = args;
  const rewritten = /^sshd: (.*?) \[listener\]/.exec(first)?.[1];
  if (rewritten !== undefined) return rewritten.split(' ');
  return /^(?:\/\S*\/)?sshd$/.test(first) ? args : undefined;
}

function pidFileOf(args: readonly string[]): string | undefined {
  return /(?:^| )-o ?pidfile=(\S+)/i.exec(args.join(' '))?.[1];
}

function configOf(args: readonly string[]): string {
  const at = args.findIndex((word) => word === '-f');
  if (at !== -1) return args[at + 1] ?? '';
  return args.find((word) => /^-f./.test(word))?.slice(2) ?? '/etc/ssh/sshd_config';
}
