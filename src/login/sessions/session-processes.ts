import { processUsage } from '../../system/process-usage.ts';
import {
  runningProcesses,
  type ProcessFacts,
  type ProcessId,
  withAncestors,
} from '../../system/processes.ts';
import type { ProcessLooks } from '../../system/process-looks.ts';
import { sessionNameParts } from '../../sessions/backends/own-session.ts';
import { containerAround, containerNames } from '../../sessions/backends/podman/user-processes.ts';
import { isPamClose } from '../../sessions/connections/sshd-monitor.ts';
import { lookAtTerminal } from './session-terminal.ts';

/** What tells the processes of a connection from others. */
export interface ConnectionOwner {
  readonly monitor: ProcessId;
  readonly uid: number;
  /** Audit session of the connection, if it has one of its own. */
  readonly session: number | undefined;
}

/** What sshd started for a session without a terminal. */
export interface WithoutTerminal {
  readonly pid: number;
  /** PID of sshd's process that started it and sends on what it writes. */
  readonly sshd: number;
}

/** What a connection runs, from the kernel. */
export interface ConnectionUsage {
  readonly processes: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** Berth's containers that the connection's processes are in. */
  readonly containers: readonly string[];
  readonly terminals: readonly string[];
  readonly withoutTerminal: readonly WithoutTerminal[];
  /** The last input at any of its terminals. Milliseconds since the epoch. */
  readonly lastInput: number | undefined;
  /** PIDs of sshd's processes for it, the monitor's first. */
  readonly sshd: readonly number[];
  /** Whether PAM's hook cleans up after it, or waits for its turn to do so. */
  readonly isClosing: boolean;
}

/**
 * What each connection runs, with one look at all processes of the host. A process belongs to a connection by its
 * audit session, which only root can change, or as a descendant of sshd's monitor.
 *
 * @param wanted which real UIDs to look at besides the monitors; default: all
 * @param looks where a recent look is enough
 */
export function connectionUsages<Owner extends ConnectionOwner>(
  owners: readonly Owner[],
  wanted: (uid: number) => boolean = () => true,
  looks?: ProcessLooks,
): ReadonlyMap<Owner, ConnectionUsage> {
  if (owners.length === 0) return new Map();
  const all = looks?.recent(wanted) ?? [...runningProcesses(wanted)];
  const byPid = new Map(all.map((facts) => [facts.pid, facts]));
  const names = containerNames(all);
  const monitors = new Map(owners.map((owner) => [owner.monitor.pid, owner]));
  const sessions = new Map(
    owners.flatMap((owner) => (owner.session === undefined ? [] : [[owner.session, owner]])),
  );
  const parts = new Map<Owner, ProcessFacts[]>(owners.map((owner) => [owner, []]));
  for (const facts of all) {
    const above = withAncestors(facts, byPid, 64);
    const owner =
      sessions.get(facts.session ?? -1) ??
      above.map(({ pid, parent }) => monitors.get(pid) ?? monitors.get(parent)).find(Boolean);
    if (owner !== undefined) parts.get(owner)?.push(facts);
  }
  return new Map(
    [...parts].map(([owner, processes]) => [owner, usageOf(owner, processes, { byPid, names })]),
  );
}

interface Surroundings {
  readonly byPid: ReadonlyMap<number, ProcessFacts>;
  readonly names: ReadonlyMap<number, string>;
}

function usageOf(
  owner: ConnectionOwner,
  processes: readonly ProcessFacts[],
  { byPid, names }: Surroundings,
): ConnectionUsage {
  let [cpuSeconds, memoryBytes] = [0, 0];
  const containers = new Set<string>();
  const terminals = new Map<string, number>();
  const withoutTerminal: WithoutTerminal[] = [];
  for (const facts of processes) {
    const usage = processUsage(facts.pid);
    if (usage === undefined) continue;
    cpuSeconds += usage.cpuSeconds;
    memoryBytes += usage.memoryBytes;
    const container = facts.pids.length > 1 ? containerAround(facts, byPid, names) : undefined;
    if (container !== undefined && sessionNameParts(container) !== undefined)
      containers.add(container);
    if (!isStartedBySshd(facts, owner, byPid)) continue;
    if (usage.pty === undefined) {
      withoutTerminal.push({ pid: facts.pid, sshd: facts.parent });
      continue;
    }
    const terminal = lookAtTerminal(usage.pty, owner.uid);
    if (terminal !== undefined) terminals.set(terminal.path, terminal.lastInput);
  }
  const children = processes.filter((one) => one.parent === owner.monitor.pid);
  return {
    processes: processes.length,
    cpuSeconds,
    memoryBytes,
    containers: [...containers],
    terminals: [...terminals.keys()].sort(),
    withoutTerminal,
    sshd: [owner.monitor, ...children].map(({ pid }) => pid),
    isClosing: children.some(isPamClose),
    lastInput: terminals.size === 0 ? undefined : Math.max(...terminals.values()),
  };
}

/**
 * Whether sshd started it: it leads its terminal session, and its parent is the monitor, or sshd's process
 * for the user, which is the monitor's child. A process in a container can have a terminal of the same number there.
 */
function isStartedBySshd(
  { pid, leader, parent }: ProcessFacts,
  { monitor }: ConnectionOwner,
  byPid: ReadonlyMap<number, ProcessFacts>,
): boolean {
  if (pid !== leader) return false;
  return parent === monitor.pid || byPid.get(parent)?.parent === monitor.pid;
}
