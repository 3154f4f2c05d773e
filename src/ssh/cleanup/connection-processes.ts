import type { IdRange } from '../../identity/subordinate-file.ts';
import {
  argumentsOf,
  fileOf,
  namespaceOf,
  programOf,
  runningProcesses,
  wasStartedWith,
  type ProcessFacts,
} from '../../system/processes.ts';

/** Whose processes are looked for. */
export interface ProcessOwner {
  readonly uid: number;
  /** The user's subordinate UIDs: who is not the user inside is one of these outside. */
  readonly subordinate: readonly IdRange[];
  /** The user's folder below the storage; podman and what it starts have it as HOME. */
  readonly folder: string;
  /** The host's podman. */
  readonly podman: string;
  /** Of podman's pause.pid: podman itself keeps the namespaces where there is no catatonit. */
  readonly pausePid: number | undefined;
}

/** Which of them. */
export interface WantedConnection {
  readonly id: string;
  /** The connection's audit session. */
  readonly session: number | undefined;
  /** Also what runs on the host and is none of Berth's: what a shell's startup files left, sshd itself. */
  readonly hostProcesses: boolean;
  /** sshd's own process for the user, where the monitor is gone. */
  readonly orphanedSshd: boolean;
}

/** A process of a user, as far as Berth has to do with it. */
export interface BerthProcess extends ProcessFacts {
  /**
   * `inside`: in a container. `support`: what keeps containers (conmon, the pause process, slirp4netns,
   * fuse-overlayfs) and the first process of each. `podman`: it is at work, and best left to end by itself.
   * `client`: what leads a connection into a container.
   */
  readonly part: 'inside' | 'support' | 'podman' | 'client' | 'sshd' | 'host';
  /** The name of the container that it is in. */
  readonly container: string | undefined;
}

/**
 * A program counts by device and inode: a process inside can call itself conmon, and cannot run the
 * host's.
 */
const supportPrograms = [
  ...['/usr/bin/conmon', '/usr/libexec/podman/conmon', '/usr/local/libexec/podman/conmon'],
  ...['/usr/bin/catatonit', '/usr/libexec/podman/catatonit', '/usr/libexec/catatonit/catatonit'],
  ...['/usr/bin/slirp4netns', '/usr/bin/pasta', '/usr/bin/pasta.avx2', '/usr/bin/fuse-overlayfs'],
  ...['/usr/lib/podman/rootlessport', '/usr/libexec/podman/rootlessport'],
  ...['/usr/lib/podman/netavark', '/usr/libexec/podman/netavark'],
  ...['/usr/lib/podman/aardvark-dns', '/usr/libexec/podman/aardvark-dns'],
];
const sshdPrograms = [
  '/usr/sbin/sshd',
  '/usr/lib/openssh/sshd-session',
  '/usr/libexec/openssh/sshd-session',
];

/** All processes of the user that a look at /proc finds, sorted into parts. */
export function userProcesses(owner: ProcessOwner): readonly BerthProcess[] {
  const own = [...runningProcesses((uid) => belongs(uid, owner))];
  if (own.length === 0) return [];
  const support = filesOf(supportPrograms);
  const sshd = filesOf(sshdPrograms);
  const podman = fileOf(owner.podman);
  const node = programOf(process.pid);
  const here = namespaceOf(process.pid, 'pid');
  const isPause = (pid: number): boolean => pid === owner.pausePid && programOf(pid) === podman;
  const supporting = new Set(
    own.flatMap(({ pid }) => (support.has(programOf(pid) ?? '') || isPause(pid) ? [pid] : [])),
  );
  const names = new Map<number, string>();
  const firsts = new Set<number>();
  for (const { pid, parent, pids } of own) {
    if (pids.length < 2 || pids.at(-1) !== 1 || !supporting.has(parent)) continue;
    firsts.add(pid);
    const name = containerOf(argumentsOf(parent));
    const namespace = namespaceOf(pid, 'pid');
    if (name !== undefined && namespace !== undefined) names.set(namespace, name);
  }
  const byPid = new Map(own.map((facts) => [facts.pid, facts]));
  return own.map((facts): BerthProcess => {
    const container = containerAround(facts, byPid, names);
    const part = (): BerthProcess['part'] => {
      const { pid } = facts;
      if (supporting.has(pid) || firsts.has(pid)) return 'support';
      if (namespaceOf(pid, 'pid') !== here) return 'inside';
      const program = programOf(pid) ?? '';
      if (sshd.has(program)) return 'sshd';
      const ours = isSupportOf(owner, pid);
      if (ours && program === podman) return 'podman';
      return ours || program === node ? 'client' : 'host';
    };
    return { ...facts, part: part(), container };
  });
}

/** Whether the connection started it: by audit session, or by the mark that `login` gives. */
export function isOfConnection(process_: BerthProcess, wanted: WantedConnection): boolean {
  const { pid, part, session } = process_;
  if (part === 'sshd' && !wanted.orphanedSshd) return false;
  if (part === 'host' && !wanted.hostProcesses) return false;
  if (wanted.session !== undefined && session === wanted.session) return true;
  return part !== 'sshd' && wasStartedWith(pid, `BERTH_CONNECTION=${wanted.id}`);
}

/** Whether it was started for Berth's containers, not for others that the user may have on this host. */
export function isSupportOf({ folder }: Pick<ProcessOwner, 'folder'>, pid: number): boolean {
  return wasStartedWith(pid, `HOME=${folder}`);
}

/**
 * Whether a closed terminal would have ended it: it is in a session that was begun from outside the
 * container, and not by a daemon inside such as tmux, whose windows live on with it.
 */
export function hangsUp(process_: BerthProcess, all: readonly BerthProcess[]): boolean {
  const leader = all.find(({ pid }) => pid === process_.leader);
  if (leader === undefined) return true;
  const parent = all.find(({ pid }) => pid === leader.parent);
  return parent?.part !== 'inside';
}

function belongs(uid: number, { uid: own, subordinate }: ProcessOwner): boolean {
  return uid === own || subordinate.some(({ start, count }) => uid >= start && uid < start + count);
}

/** conmon's `-n NAME`. */
function containerOf(args: readonly string[]): string | undefined {
  const at = args.indexOf('-n');
  return at === -1 ? undefined : args[at + 1];
}

/** A process may have made PID namespaces of its own inside: then its ancestors tell. */
function containerAround(
  facts: ProcessFacts,
  byPid: ReadonlyMap<number, ProcessFacts>,
  names: ReadonlyMap<number, string>,
): string | undefined {
  let around: ProcessFacts | undefined = facts;
  for (let step = 0; around !== undefined && step < 32; step += 1) {
    const namespace = namespaceOf(around.pid, 'pid');
    const name = namespace === undefined ? undefined : names.get(namespace);
    if (name !== undefined) return name;
    around = byPid.get(around.parent);
  }
  return undefined;
}

function filesOf(paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.flatMap((path) => fileOf(path) ?? []));
}
