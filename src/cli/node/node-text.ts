import { BerthError } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import type { Undrained } from '../../login/drain/drain-node.ts';
import type { DrainState } from '../../login/drain/drain-state.ts';
import type { ListenerUnit } from '../../login/drain/listener-units.ts';
import { durationText, escapedLines, timestamp } from '../kit/text.ts';

/** What `berth node status` shows. */
export interface NodeStatus {
  /** Undefined if the node is in service. */
  readonly state: DrainState | undefined;
  readonly undrainIncomplete: boolean;
  readonly units: readonly ListenerUnit[];
  /** All open sessions, and those of them that a drain waits for. */
  readonly sessions: number;
  readonly waitedFor: number;
}

/** A line for each listener, and who drained the node. */
export function statusText(status: NodeStatus): string {
  const { state, undrainIncomplete, units, sessions, waitedFor } = status;
  const lines = [
    state === undefined
      ? 'not drained'
      : `drained${state.since > 0 ? ` since ${timestamp(state.since)} by ${state.by}` : ''}`,
    ...(state === undefined || state.reason === '' ? [] : [`reason: ${state.reason}`]),
    ...(state?.deadline === undefined ? [] : [`deadline: ${timestamp(state.deadline)}`]),
    ...(undrainIncomplete ? ['an undrain was interrupted: run `berth node undrain` again'] : []),
    ...(units.length === 0
      ? ['no listener: no berth-sshd@ unit; `berth node drain` cannot drain this node']
      : units.map(
          ({ name, state: active, enabled }) =>
            `${name}: ${active}, ${enabled ? 'enabled' : 'not enabled'}`,
        )),
    `open sessions: ${sessions} (${waitedFor} that a drain waits for)`,
  ];
  return escapedLines(lines);
}

/** @param open how many sessions a drain waits for */
export function drainedText(
  { units }: DrainState,
  { open, waits }: { readonly open: number; readonly waits: boolean },
): string {
  const names = units.map(({ name }) => name).join(', ');
  const drained = `drained: no new connections at ${names}; open sessions: ${open}\n`;
  if (waits) return drained;
  const wait = open === 0 ? '' : '; --wait or --deadline waits for the sessions';
  return `${drained}next: \`berth node undrain\` takes it back into service${wait}\n`;
}

/** What a drain would do, and on standard error what is wrong with ssh.yml. */
export function drainPlanText(
  running: readonly string[],
  options: {
    readonly open: number;
    readonly wait: boolean;
    readonly message: string | undefined;
    readonly seconds: number | undefined;
  },
  settingsError: BerthError | undefined,
): { readonly out: string; readonly err: string } {
  const { open, wait, message, seconds } = options;
  const tells = message !== undefined || seconds !== undefined;
  const lines = [
    `${running.length === 0 ? 'no listener is running; the node would be marked as drained' : `would stop ${running.join(', ')}`}; open sessions: ${open}`,
    ...(tells ? ['a message would be sent to the open sessions'] : []),
    ...(seconds !== undefined
      ? [`sessions still open after ${durationText(seconds)} would be ended`]
      : wait
        ? ['the command would wait until no session is left']
        : []),
  ];
  const err =
    tells && settingsError !== undefined
      ? `warning: no session would be told: ${escapedForTerminal(`${settingsError.message} [${settingsError.code}]`)}\nnext: ${escapedForTerminal(settingsError.hint)}\n`
      : '';
  return { out: lines.map((line) => `${line}\n`).join(''), err };
}

/** What an undrain did or would do, and on standard error what it does not. */
export function undrainedText(
  { wasDrained, started, skipped }: Undrained,
  dryRun = false,
): { readonly out: string; readonly err: string } {
  if (!wasDrained)
    return { out: `this node is not drained${dryRun ? '' : '; nothing was done'}\n`, err: '' };
  const disabled = skipped.map(
    (name) =>
      `not started: ${name}, which was disabled since the drain; to start it: systemctl enable --now ${name}\n`,
  );
  const names = started.join(', ');
  const would =
    names === ''
      ? 'would mark the node as not drained; no listener would be started\n'
      : `would start ${names}\n`;
  return { out: dryRun ? would : inServiceText(started, skipped), err: disabled.join('') };
}

function inServiceText(started: readonly string[], skipped: readonly string[]): string {
  if (started.length > 0) return `in service again: started ${started.join(', ')}\n`;
  const none = 'no longer drained, but no listener was started';
  if (skipped.length > 0) return `${none}\n`;
  return `${none}: none ran when the drain began\nnext: systemctl start berth-sshd@NAME\n`;
}
