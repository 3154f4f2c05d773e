import { ReadStream, WriteStream } from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { ExecOutcome } from './protocol/exec-status.ts';
import { runProgramSync } from '../../system/run-program.ts';
import type { TerminalSize } from '../../system/text/terminal-size.ts';
import { relayCommand, type RelayInput, type RelayTerminal } from './relay-command.ts';
import { processStdin } from './stdin-source.ts';
import { processOutput } from './stdout-sink.ts';

export type RelaySessionInput = Omit<
  RelayInput,
  'stdin' | 'stdout' | 'stderr' | 'terminal' | 'onOpen'
> & {
  /** Runs before the signal handlers are removed. */
  readonly cleanUp?: (outcome: ExecOutcome | undefined) => Promise<void>;
  /** Forwards a signal to the command. If that fails, SIGTERM and SIGINT end the session. */
  readonly handOn?: (signal: NodeJS.Signals) => Promise<void>;
};

/** Signals that end a session: the client disconnected, an admin ended it, or the host shuts down. */
const endingSignals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

/** Signals that an SSH client can send to its command (OpenSSH's session.c, name2sig). */
const clientSignals = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGALRM', 'SIGUSR1', 'SIGUSR2'] as const;

/**
 * Runs a command in a pod with the standard streams, the terminal and the signals of this process.
 *
 * @returns the command's exit code; 255 and a reason if it is unknown
 * @throws {BerthError} the errors of `openExec`: then nothing ran
 */
export async function relaySession(session: RelaySessionInput): Promise<ExecOutcome> {
  const ending = new AbortController();
  const end = (signal: NodeJS.Signals): void =>
    ending.abort(
      new BerthError('session-signalled', `the session was ended by ${signal}`, {
        forUser: true,
        fields: { signal },
      }),
    );
  const { handOn } = session;
  const handled = (signal: NodeJS.Signals): void =>
    void handOn?.(signal).catch(() => {
      if (endingSignals.some((each) => each === signal)) end(signal);
    });
  const listeners = new Map<NodeJS.Signals, (signal: NodeJS.Signals) => void>(
    endingSignals.map((signal) => [signal, end]),
  );
  if (handOn !== undefined) for (const signal of clientSignals) listeners.set(signal, handled);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  let terminal: RawTerminal | undefined;
  let outcome: ExecOutcome | undefined;
  let lasts: NodeJS.Timeout | undefined;
  try {
    const given = session.signal === undefined ? [] : [session.signal];
    terminal = session.target.tty ? openRawTerminal() : undefined;
    outcome = await relayCommand({
      ...session,
      stdin: processStdin(),
      stdout: processOutput(1),
      stderr: processOutput(2),
      onOpen: () => {
        disableJit();
        lasts = setTimeout(releaseMemory, lastsMs).unref();
      },
      signal: AbortSignal.any([...given, ending.signal]),
      terminal,
    });
    return outcome;
  } finally {
    clearTimeout(lasts);
    terminal?.restore();
    await session.cleanUp?.(outcome);
    for (const [signal, listener] of listeners) process.off(signal, listener);
  }
}

/**
 * V8's optimizing compilers take five megabytes of memory as soon as they compile anything. A process that only relays
 * bytes for a whole session does not become measurably faster by them.
 */
const flags = [
  '--no-opt',
  // For WebAssembly: for its code, and for the wrapper that calls it, which is otherwise optimized at the 1000th call.
  '--liftoff-only',
  '--wasm-wrapper-tiering-budget=2147483647',
];

/**
 * Turns the optimizing compilers off. Call it after everything is loaded, because Node compiles its own code again
 * once flags have changed, and before much has run: the memory of a compiler that has run is not released.
 */
export function disableJit(): void {
  for (const flag of flags) setFlagsFromString(flag);
}

/** A session of this age is likely to last, and its memory counts. Milliseconds. */
const lastsMs = 5_000;

/**
 * Returns what the start has used to the system: about two megabytes of twelve. V8 keeps the pages of its heap otherwise,
 * also after `gc()` without options. The session stops for about a tenth of a second, once.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  // The flag concerns contexts that are made after it.
  const collect = runInNewContext('gc') as (options: object) => void;
  collect({ type: 'major', flavor: 'last-resort' });
}

/** The local terminal on descriptor 0 in raw mode, while the terminal in the pod processes keys and output. */
interface RawTerminal extends RelayTerminal {
  /** Restores the former mode. May be called more than once; Node does the same if the process exits first. */
  restore(): void;
}

/**
 * Sets raw mode, as cfmakeraw(3) does.
 *
 * @throws {Error} if the terminal no longer exists
 */
function openRawTerminal(): RawTerminal {
  const input = new ReadStream(0);
  input.setRawMode(true);
  // Node 22 leaves output processing on, which turns LF into CR LF and moves the cursor of full-screen programs.
  runProgramSync('/bin/stty', ['-opost', '-iexten'], { stdin: 0 });
  const listeners: (() => void)[] = [];
  return {
    size: terminalSize,
    onResize: (changed) => {
      listeners.push(changed);
      process.on('SIGWINCH', changed);
    },
    restore: () => {
      for (const listener of listeners.splice(0)) process.off('SIGWINCH', listener);
      if (!input.destroyed) input.setRawMode(false);
      input.destroy();
    },
  };
}

/** The current size of the terminal on descriptor 0. A stream only has the size at the time it was created. */
export function terminalSize(): TerminalSize {
  const now = new WriteStream(0);
  const [columns, rows] = now.getWindowSize();
  now.destroy();
  return { columns, rows };
}
