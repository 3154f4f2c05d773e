import { countText } from '../../../system/text/count-text.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { asBerthError, BerthError } from '../../../system/errors/berth-error.ts';
import { parentsFirst } from '../../../system/processes.ts';
import { podContainer } from './objects/pod-object.ts';
import {
  belongsToOpenConnection,
  earlierSweeps,
  endsWithTerminal,
  podProcesses,
  sessionProcesses,
  type PodProcess,
} from './objects/pod-processes.ts';
import { leftoversArgv } from './objects/pod-scripts.ts';
import { signalSteps } from '../../../system/end-processes.ts';
import type { PodGrant } from './pod-grant-file.ts';
import { PodDialogue } from '../../exec/pod-command.ts';

export interface LeftoversInput {
  /** Returns those of the marks (`connectionMark`) whose connections are open now. The user can forge marks. */
  readonly open: (marks: ReadonlySet<string>) => Promise<ReadonlySet<string>>;
  /** For a profile where processes that ignore SIGHUP may stay: the marks of the connections whose processes get SIGHUP. */
  readonly hangUp?: readonly string[];
}

/** The result of a sweep. */
export interface LeftoversResult {
  /** Number of processes that were ended. */
  readonly ended: number;
  /** Number of processes of sessions that remain. */
  readonly busy: number;
}

/** Interval between two checks while processes are ending. Milliseconds. */
const everyMs = 100;

/** How long to wait for other sweeps of the pod, which a user can imitate. Milliseconds. */
const aloneMs = 15_000;

/**
 * Ends all processes of sessions in a running pod that do not belong to an open connection. With `hangUp`, it ends only
 * those processes of the given connections that a closed terminal would end.
 *
 * The open connections are read after the processes. A connection is recorded before its first process starts, so the
 * processes of a login in between are not ended.
 *
 * @throws {BerthError} `pod-cleanup-failed`; the errors of `openExec`, such as `exec-no-pod`: then nothing ran
 */
export async function killLeftovers(
  { server, namespace }: PodGrant,
  pod: string,
  { open, hangUp }: LeftoversInput,
  signal: AbortSignal,
): Promise<LeftoversResult> {
  const place = { server, pod: { namespace, pod, container: podContainer } };
  const dialogue = new PodDialogue({ ...place, argv: leftoversArgv(), signal });
  try {
    const ownShellPid = Number(await dialogue.first());
    const table = async (): Promise<PodProcess[]> => podProcesses(await dialogue.ask('table'));
    const look = async (): Promise<PodProcess[]> => sessionProcesses(await table(), ownShellPid);
    const sweeper: Sweeper = { dialogue, ownShellPid, table, look, open, seen: new Set() };
    if (hangUp !== undefined) await sendHangup(sweeper, new Set(hangUp));
    else {
      await endOrphans(sweeper);
      await endUnseen(sweeper);
    }
    const all = await look();
    const left = hangUp === undefined ? await orphans(all, open) : [];
    if (left.length > 0) throw new Error(`${countText(left.length, 'process')} survived SIGKILL`);
    const stay = new Set(all.map(keyOf));
    const ended = [...sweeper.seen].filter((key) => !stay.has(key)).length;
    return { ended, busy: all.length };
  } catch (thrown) {
    const { code, message, hint } = asBerthError(thrown, 'sweeping');
    if (thrown instanceof BerthError && code.startsWith('exec-')) throw thrown;
    throw new BerthError(
      'pod-cleanup-failed',
      `ending leftover processes in pod ${namespace}/${pod}: ${message}`,
      {
        hint:
          code === 'internal-error'
            ? `berth reap tries again. If they remain: kubectl delete pod -n ${namespace} ${pod}`
            : hint,
        cause: thrown,
      },
    );
  } finally {
    await dialogue.close();
  }
}

interface Sweeper {
  readonly dialogue: PodDialogue;
  /** PID of the shell in the pod. */
  readonly ownShellPid: number;
  /** Lists all processes of the container. */
  readonly table: () => Promise<PodProcess[]>;
  /** Lists the processes of sessions. */
  readonly look: () => Promise<PodProcess[]>;
  readonly open: LeftoversInput['open'];
  /** The processes that were sent a signal. */
  readonly seen: Set<string>;
}

async function orphans(
  all: readonly PodProcess[],
  open: LeftoversInput['open'],
): Promise<PodProcess[]> {
  const belongs = belongsToOpenConnection(await open(marksOf(all)), all);
  return all.filter((one) => !belongs(one));
}

function marksOf(all: readonly PodProcess[]): ReadonlySet<string> {
  return new Set(all.flatMap(({ mark }) => mark ?? []));
}

/**
 * Waits until no earlier sweep of any login node is running in the pod. Processes that another sweep has stopped would look
 * as if the user had stopped them, and would not be continued.
 *
 * @returns all processes of the container at that time
 */
async function waitForOtherCleanups({ table, ownShellPid }: Sweeper): Promise<PodProcess[]> {
  const end = performance.now() + aloneMs;
  for (;;) {
    const all = await table();
    if (earlierSweeps(all, ownShellPid).length === 0 || performance.now() > end) return all;
    await sleep(everyMs);
  }
}

/** Processes of open connections that are not stopped. */
async function others(
  all: readonly PodProcess[],
  ownShellPid: number,
  open: LeftoversInput['open'],
): Promise<PodProcess[]> {
  const belongs = belongsToOpenConnection(await open(marksOf(all)), all);
  return sessionProcesses(all, ownShellPid).filter((one) => !one.stopped && belongs(one));
}

async function signalAll(
  { dialogue, seen }: Sweeper,
  signal: NodeJS.Signals,
  all: readonly PodProcess[],
): Promise<void> {
  for (const one of all) seen.add(keyOf(one));
  const pids = all.map(({ pid }) => pid).join(' ');
  if (pids !== '') await dialogue.ask(`kill -${signal.slice(3)} ${pids}`);
}

async function sendHangup(sweeper: Sweeper, closed: ReadonlySet<string>): Promise<void> {
  const all = await sweeper.look();
  const theirs = all.filter(({ mark = '' }) => closed.has(mark));
  const [[signal, graceMs] = ['SIGHUP', 0] as const] = signalSteps;
  await signalAll(sweeper, signal, theirs.filter(endsWithTerminal(all)));
  if (sweeper.seen.size > 0) await sleep(graceMs);
}

/** As on the host: SIGHUP, SIGTERM, and then SIGKILL. */
async function endOrphans(sweeper: Sweeper): Promise<void> {
  for (const [index, [signal, graceMs]] of signalSteps.entries()) {
    const end = performance.now() + graceMs;
    const sent = new Set<string>();
    for (;;) {
      const found = await orphans(await sweeper.look(), sweeper.open);
      if (found.length === 0) return;
      const again = index === signalSteps.length - 1;
      await signalAll(
        sweeper,
        signal,
        found.filter((one) => again || !sent.has(keyOf(one))),
      );
      for (const one of found) sent.add(keyOf(one));
      if (performance.now() > end) break;
      await sleep(everyMs);
    }
  }
}

/**
 * Ends processes that a listing may have missed. If a PID was assigned during the listing, all processes are stopped at one
 * moment, listed again, and those of open connections are continued at once.
 */
async function endUnseen(sweeper: Sweeper): Promise<void> {
  const { dialogue, ownShellPid, open, table } = sweeper;
  const before = await waitForOtherCleanups(sweeper);
  const none = (await orphans(sessionProcesses(before, ownShellPid), open)).length === 0;
  if (none && (await isProcessListUnchanged(dialogue, before))) return;
  for (const layer of parentsFirst(await others(before, ownShellPid, open)))
    await dialogue.ask(`hold ${layer.map(({ pid }) => pid).join(' ')}`);
  await dialogue.ask('freeze');
  const all = await table();
  await signalAll(sweeper, 'SIGKILL', await orphans(sessionProcesses(all, ownShellPid), open));
  const stopped = new Set(before.filter((one) => one.stopped).map(keyOf));
  // Continues all processes of the container, because all were stopped, including another sweep's shell, which holds what
  // it has stopped itself. Children first, so that a parent never sees that a child was stopped. Also those that do not
  // look stopped: on a busy node a process may not have handled the signal yet.
  const going = all.filter((one) => !stopped.has(keyOf(one)));
  const pids = going.toSorted((a, b) => b.start - a.start || b.pid - a.pid).map(({ pid }) => pid);
  if (pids.length > 0) await dialogue.ask(`kill -CONT ${pids.join(' ')}`);
  await dialogue.ask(stopped.size === 0 ? 'thaw' : 'thawed');
}

/** Whether no process was started during a listing of the PIDs, and there is none that was not there before. */
async function isProcessListUnchanged(
  dialogue: PodDialogue,
  before: readonly PodProcess[],
): Promise<boolean> {
  const answer = await dialogue.ask('look');
  const known = new Set(before.map(({ pid, start }) => `${pid} ${start}`));
  return answer.at(0) === answer.at(-1) && answer.slice(1, -1).every((row) => known.has(row));
}

function keyOf({ pid, start }: PodProcess): string {
  return `${pid}.${start}`;
}
