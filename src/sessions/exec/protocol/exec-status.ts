import { BerthError } from '../../../system/errors/berth-error.ts';
import { escapeControl } from '../../../log.ts';

/** The outcome of a remote command, as far as it is known. */
export interface ExecOutcome {
  /** The command's exit code; 255 if there is a `reason`. */
  readonly exitCode: number;
  readonly reason?: BerthError;
  /** Set if the command was not started: the groups with which its pod was created (`StartMarker`). */
  readonly declined?: string;
}

/** What ssh(1) exits with if the exit code of the command is unknown. */
const unknownExit = 255;

/** Longer than any real Status. Bytes. */
export const maxStatusBytes = 256 * 1024;

/** How much of a message is shown and logged, in characters. */
const longestMessage = 500;

interface Cause {
  /** `type` in Go. */
  readonly reason?: unknown;
  readonly message?: unknown;
}

interface Status {
  readonly status?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly causes?: readonly Cause[] };
}

/**
 * The command's exit code from the `Status` on the error channel (client-go's
 * tools/remotecommand/v4.go). Only `Success` means 0.
 */
export function parseStatus(text: string): ExecOutcome {
  try {
    const status = JSON.parse(text) as Status;
    if (status.status === 'Success') return { exitCode: 0 };
    return status.reason === 'NonZeroExitCode' ? exitCodeOf(status) : failed(status);
  } catch {
    return lostOutcome(protocolError('the error channel does not contain a Status'));
  }
}

/** The exit code of the command is unknown, or it did not start. */
export function lostOutcome(reason: BerthError): ExecOutcome {
  return { exitCode: unknownExit, reason };
}

/**
 * The outcome of a command started `withExitMarker` whose exit marker is missing: it was ended from outside, or the stream
 * was cut.
 *
 * @param missing the channels without a marker
 */
export function outcomeWithoutMarker(
  { exitCode, reason }: ExecOutcome,
  missing: string,
): ExecOutcome {
  if (reason !== undefined) return { exitCode, reason };
  return lostOutcome(
    new BerthError(
      'exec-ended-externally',
      'your session in the pod ended before the exit status of its command arrived; it is unknown',
      {
        forUser: true,
        fields: { exit: exitCode, missing },
      },
    ),
  );
}

function failed({ message, reason }: Status): ExecOutcome {
  const said = typeof message === 'string' ? message.slice(0, longestMessage) : 'no message';
  return lostOutcome(
    new BerthError('exec-failed-in-pod', `running the command in the pod: ${escapeControl(said)}`, {
      fields: typeof reason === 'string' ? { why: reason.slice(0, longestMessage) } : {},
    }),
  );
}

function exitCodeOf({ details }: Status): ExecOutcome {
  const said = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  const code = typeof said === 'string' && /^\d{1,3}$/.test(said) ? Number(said) : 0;
  if (code > 0 && code < 256) return { exitCode: code };
  const shown = said === undefined ? 'missing' : JSON.stringify(said).slice(0, longestMessage);
  return lostOutcome(protocolError(`the exit code of the command is ${shown}`));
}

/** The server, or a proxy in between, violates the protocol. The stream ends, because its next byte could mean anything. */
export function protocolError(what: string): BerthError {
  return new BerthError(
    'exec-protocol',
    `the exec stream of the API server violates the protocol: ${what}`,
  );
}
