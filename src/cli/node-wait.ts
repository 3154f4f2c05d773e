import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError } from '../errors.ts';
import { drainFiles, readDrainState, type DrainState } from '../ssh/drain/drain-state.ts';
import { ownSession } from '../ssh/sessions/own-session.ts';
import type { Session } from '../ssh/sessions/session.ts';
import { countText } from './count-text.ts';
import { durationText } from './duration.ts';
import { withProgress } from './progress.ts';
import { endAndReport } from './sessions-end.ts';
import { tellBySettings } from './sessions-notice.ts';
import { readSessions } from './sessions-select.ts';
import type { Terminal } from './terminal.ts';

export interface WaitOptions {
  readonly wait: boolean;
  readonly deadlineSeconds: number | undefined;
  readonly message?: string | undefined;
  readonly config?: string | undefined;
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
  const { wait, deadlineSeconds, message, config } = options;
  const left = async (): Promise<readonly Session[]> =>
    drainedSessions(await readSessions(terminal, { profiles: false }), state);
  const tell = async (remaining: number | undefined): Promise<void> => {
    const when =
      remaining === undefined ? '' : ` Sessions end in ${durationText(remaining / 1000)}.`;
    const text = `This node is being taken out of service.${when} ${message ?? ''}`.trim();
    await tellBySettings(await left(), text, config);
  };
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
  const kept =
    late.length === 0 ? [] : await endAndReport(late, { graceSeconds: 0, config }, terminal);
  if (kept.length === 0) terminal.stdout.write('no session is left\n');
  else terminal.stderr.write(`${countText(kept.length, 'session')} could not be ended\n`);
}

/** The sessions that a drain waits for: not those of the host's own sshd, and not the admin's own. */
export function drainedSessions(
  sessions: readonly Session[],
  { units }: DrainState,
): readonly Session[] {
  const own = ownSession(sessions);
  return sessions.filter(
    (one) => one !== own && (one.unit === undefined || units.some(({ name }) => name === one.unit)),
  );
}

function assertDrained(): void {
  if (readDrainState(drainFiles.drain) !== undefined) return;
  throw new BerthError('the node was undrained while this command waited', {
    code: 'drain-undone',
    hint: 'Nothing was ended. See `berth node status`.',
  });
}
