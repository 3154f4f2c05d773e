import { BerthError } from '../../../../errors.ts';
import { escapeControl } from '../../../../log.ts';
import { protocolError } from './protocol-error.ts';

/** How a remote command ended, as far as anybody knows. */
export interface ExecOutcome {
  /** The command's own; 255 where there is a `reason`. */
  readonly exitCode: number;
  readonly reason?: BerthError;
  /** The command was not begun: the groups with which its pod was made (`BeginMark`). */
  readonly declined?: string;
}

/** What ssh(1) itself exits with where the command's own exit code is not known. */
const unknownExit = 255;

/** No Status comes near it, in bytes. */
export const longestStatus = 256 * 1024;

/** What of it a terminal and syslog get, in characters. */
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
 * tools/remotecommand/v4.go). 0 is what says `Success` and nothing else.
 */
export function execOutcome(text: string): ExecOutcome {
  try {
    const status = JSON.parse(text) as Status;
    if (status.status === 'Success') return { exitCode: 0 };
    return status.reason === 'NonZeroExitCode' ? exitCodeOf(status) : failed(status);
  } catch {
    return lost(protocolError('how the command ended is no Status'));
  }
}

/** Nobody knows how the command ended, or it never began. */
export function lost(reason: BerthError): ExecOutcome {
  return { exitCode: unknownExit, reason };
}

/**
 * What Kubernetes says of a command that was to mark its end (`withEndMark`) and did not: it was ended
 * from outside, or the stream was cut.
 *
 * @param missing Where it did not: of a stream that was cut, one channel may be whole.
 */
export function unmarked({ exitCode, reason }: ExecOutcome, missing: string): ExecOutcome {
  if (reason !== undefined) return { exitCode, reason };
  return lost(
    new BerthError('the session was ended from outside', {
      code: 'exec-ended-externally',
      exit: 'temporary',
      hint: 'Log in again. It is not known how the command ended: its pod was deleted or evicted, or its node is shutting down.',
      forUser: true,
      fields: { exit: exitCode, missing },
    }),
  );
}

function failed({ message, reason }: Status): ExecOutcome {
  const said = typeof message === 'string' ? message.slice(0, longestMessage) : 'no message';
  return lost(
    new BerthError(`the command did not run to its end: ${escapeControl(said)}`, {
      code: 'exec-failed-in-pod',
      exit: 'unavailable',
      hint: "See the pod's events and the kubelet's log on its node: kubectl describe pod.",
      fields: typeof reason === 'string' ? { why: reason.slice(0, longestMessage) } : {},
    }),
  );
}

function exitCodeOf({ details }: Status): ExecOutcome {
  const said = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  const code = typeof said === 'string' && /^\d{1,3}$/.test(said) ? Number(said) : 0;
  if (code > 0 && code < 256) return { exitCode: code };
  const shown = said === undefined ? 'not said' : JSON.stringify(said).slice(0, longestMessage);
  return lost(protocolError(`the exit code of the command is ${shown}`));
}
