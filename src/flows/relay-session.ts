import { BerthError } from '../errors.ts';
import type { ExecOutcome } from '../session/relay/exec-status.ts';
import { ownInput } from '../system/own-input.ts';
import { ownOutput } from '../system/own-output.ts';
import { rawTerminal, type RawTerminal } from '../system/raw-terminal.ts';
import { relay, type RelayInput } from './relay.ts';

export type RelaySession = Omit<
  RelayInput,
  'stdin' | 'stdout' | 'stderr' | 'terminal' | 'onOpen'
> & {
  /** Runs before the signals that end a session have their own way again. */
  readonly cleanUp?: (outcome: ExecOutcome | undefined) => Promise<void>;
};

/** What ends a session from outside: the client is gone, or an admin, or the machine goes down. */
const endingSignals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

/**
 * This process as the local end of a command in a pod: its descriptors, its terminal where the command
 * has one, and the signals that it gets.
 *
 * @returns The command's exit code; 255 and a reason where nobody knows it.
 * @throws {BerthError} what `openExec` throws: then nothing ran
 */
export async function relaySession(session: RelaySession): Promise<ExecOutcome> {
  const ending = new AbortController();
  const end = (signal: NodeJS.Signals): void => ending.abort(signalled(signal));
  for (const signal of endingSignals) process.on(signal, end);
  let terminal: RawTerminal | undefined;
  let outcome: ExecOutcome | undefined;
  try {
    const given = session.signal === undefined ? [] : [session.signal];
    terminal = session.target.tty ? rawTerminal() : undefined;
    outcome = await relay({
      ...session,
      stdin: ownInput(),
      stdout: ownOutput(1),
      stderr: ownOutput(2),
      signal: AbortSignal.any([...given, ending.signal]),
      ...(terminal === undefined ? {} : { terminal }),
    });
    return outcome;
  } finally {
    terminal?.restore();
    await session.cleanUp?.(outcome);
    for (const signal of endingSignals) process.off(signal, end);
  }
}

function signalled(signal: NodeJS.Signals): BerthError {
  return new BerthError(`the session was ended by ${signal}`, {
    code: 'session-signalled',
    exit: 'temporary',
    hint: 'The client went away, or an admin ended it; how the command ended is not known.',
    fields: { signal },
  });
}
