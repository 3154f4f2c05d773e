import { setTimeout as sleep } from 'node:timers/promises';
import { countText } from '../../system/text/count-text.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { type DrainState, drainFiles, readDrainState } from '../../login/drain/drain-state.ts';
import { ownSession } from '../../login/sessions/find-sessions.ts';
import type { Session } from '../../login/sessions/list-sessions.ts';
import { type SettingsRead, type SiteArguments, readSessionSettings } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { durationText } from '../kit/text.ts';
import { endAndReport, messageMs, tellBySettings } from '../sessions/end.ts';
import { openSessions } from '../sessions/select.ts';

export interface WaitOptions {
  readonly wait: boolean;
  readonly deadlineSeconds: number | undefined;
  readonly message?: string | undefined;
  readonly files: SiteArguments;
  /** ssh.yml as it was before the drain. */
  readonly read: SettingsRead;
}

/** How often to look, and how long before the deadline sessions are told again. Milliseconds. */
const [everyMs, lastCallMs] = [2_000, 300_000];

/**
 * Tells the sessions that the node is drained, and waits until they have ended.
 *
 * @throws {BerthError} `drain-undone`, the errors of `endAndReport`
 */
export async function waitForSessions(
  state: DrainState,
  options: WaitOptions,
  terminal: Terminal,
): Promise<void> {
  const { wait, deadlineSeconds, message, files } = options;
  const left = async (): Promise<readonly Session[]> =>
    drainedSessions(await openSessions(terminal), state.units);
  let { read } = options;
  /** After a mistake in ssh.yml, which may have been corrected meanwhile. */
  const readAgain = async (): Promise<SettingsRead> =>
    (read = read.error === undefined ? read : await readSessionSettings(files));
  const tell = async (remaining: number | undefined): Promise<void> => {
    const when =
      remaining === undefined ? '' : ` Sessions end in ${durationText(remaining / 1000)}.`;
    const text = `This node is being taken out of service.${when} ${message ?? ''}`.trim();
    const sessions = await left();
    if (sessions.length === 0) return;
    const { settings, error } = await readAgain();
    if (settings !== undefined) {
      if ((await tellBySettings(sessions, text, settings, { isEnd: false })) > 0)
        toldAt = performance.now();
    } else terminal.stderr.write(once(nobodyToldText(error)));
  };
  const once = onlyOnce();
  let toldAt = -Infinity;
  const end = performance.now() + (deadlineSeconds ?? Infinity) * 1000;
  const remaining = (): number => end - performance.now();
  if (message !== undefined || deadlineSeconds !== undefined)
    await tell(deadlineSeconds === undefined ? undefined : deadlineSeconds * 1000);
  if (!wait && deadlineSeconds === undefined) return;
  let [count, told] = [0, remaining() <= 2 * lastCallMs];
  const over = async (): Promise<boolean> => {
    count = (await left()).length;
    return count === 0 || remaining() <= 0;
  };
  await withProgress(
    terminal,
    () => `waiting for sessions to end; open: ${count}`,
    async () => {
      while (!(await over())) {
        assertDrained();
        if (!told && remaining() <= lastCallMs) {
          told = true;
          await tell(remaining());
        }
        await sleep(Math.min(everyMs, Math.max(0, remaining())));
      }
    },
  );
  assertDrained();
  const late = await left();
  // With a short deadline, what was just written may still be on its way.
  if (late.length > 0) await sleep(Math.max(0, toldAt + messageMs - performance.now()));
  const kept =
    late.length === 0
      ? []
      : await endAndReport(late, { graceSeconds: 0, read: await readAgain(), files }, terminal);
  if (kept.length === 0) terminal.stdout.write('no session is left\n');
  else terminal.stderr.write(keptText(kept.length));
}

export function keptText(count: number): string {
  return `${countText(count, 'session')} could not be ended\nnext: \`berth reap\` tries again; see \`berth sessions list\`\n`;
}

export function nobodyToldText({ message, code, hint }: BerthError): string {
  const error = escapedForTerminal(`${message} [${code}]`);
  return `warning: The node is drained, but no session was told: ${error}\nnext: correct ssh.yml and run the same command again, or \`berth node undrain\`. ${escapedForTerminal(hint)}\n`;
}

/** The text, and '' if it was given before. */
function onlyOnce(): (text: string) => string {
  const given = new Set<string>();
  return (text) => (given.has(text) ? '' : (given.add(text), text));
}

/** The sessions that a drain waits for: not those of the host's own sshd, and not the admin's own. */
export function drainedSessions(
  sessions: readonly Session[],
  units: readonly { readonly name: string }[],
): readonly Session[] {
  const own = ownSession(sessions);
  return sessions.filter(
    (one) => one !== own && (one.unit === undefined || units.some(({ name }) => name === one.unit)),
  );
}

function assertDrained(): void {
  if (readDrainState(drainFiles.drain) !== undefined) return;
  throw new BerthError('drain-undone', 'the node was undrained while this command waited');
}
