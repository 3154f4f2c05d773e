import { findRuntimeDir } from '../../connections/runtime-dir.ts';
import type { SessionContext } from '../../connections/state-paths.ts';
import type { User } from '../../../system/identity/nss.ts';
import type { IdRange } from '../../../system/identity/subordinate-file.ts';
import { subordinateRanges } from '../../../system/identity/subordinate-ranges.ts';
import { type SessionHost, userStorageDir } from '../../request/session-host.ts';
import { isInJob } from '../../../system/job-cgroup.ts';
import {
  executableId,
  fileId,
  hasInitialVariable,
  initialEnvironment,
  withAncestors,
  namespaceInode,
  processArguments,
  type ProcessFacts,
  runningProcesses,
} from '../../../system/processes.ts';
import type { ProcessLooks } from '../../../system/process-looks.ts';
import { validatedPausePid } from './running-container.ts';

/** One user's processes and paths on this host. */
export interface UserState {
  readonly user: User;
  readonly owner: ProcessOwner;
  /** undefined if the user has no runtime directory; then no container can run either. */
  readonly host: SessionHost | undefined;
}

export async function readUserState(site: SessionContext, user: User): Promise<UserState> {
  const { storage, podman } = site.settings;
  const runtimeDir = findRuntimeDir(user);
  const host = runtimeDir === undefined ? undefined : { user, runtimeDir, storage, podman };
  return {
    user,
    host,
    owner: {
      uid: user.uid,
      subordinate: await subordinateRanges(user),
      directory: userStorageDir({ storage, user }),
      podman: podman.podman,
      pausePid: host && validatedPausePid(host),
    },
  };
}

/** The user whose processes are listed. */
export interface ProcessOwner {
  readonly uid: number;
  /** The user's subordinate UIDs: UIDs on the host of other users inside the container. */
  readonly subordinate: readonly IdRange[];
  /** The user's directory below the storage, which is HOME of podman and its children. */
  readonly directory: string;
  /** Path of podman on the host. */
  readonly podman: string;
  /** From podman's pause.pid: without catatonit, podman itself keeps the namespaces open. */
  readonly pausePid: number | undefined;
}

/** The connection whose processes are selected. */
export interface ConnectionFilter {
  readonly id: string;
  /** Audit session of the connection. */
  readonly session: number | undefined;
  /** Whether to also select processes on the host: those that shell startup files started, and sshd itself. */
  readonly hostProcesses: boolean;
  /** Whether to select sshd's process for the user, because the monitor has ended. */
  readonly orphanedSshd: boolean;
}

/** A process of a user, with its role in Berth's containers. */
export interface BerthProcess extends ProcessFacts {
  /**
   * `inside`: in a container. `support`: keeps containers running (conmon, the pause process, slirp4netns,
   * fuse-overlayfs), or is the first process of one. `podman`: a running podman command, which should be left to
   * finish. `client`: connects an SSH connection to a container.
   */
  readonly part: 'inside' | 'support' | 'podman' | 'client' | 'sshd' | 'host';
  /** Name of the container that the process is in. */
  readonly container: string | undefined;
  /**
   * Parent of the sshd process that it is or descends from. Only the one that serves the connection is the monitor's child:
   * another is about to start a session, and xauth(1) may keep it waiting for a FIFO in the home, also after its connection.
   */
  readonly sshdParent: number | undefined;
}

/** Identified by device and inode: a process inside can call itself conmon, but cannot run the host's. */
const supportPrograms = [
  '/usr/bin/conmon',
  '/usr/libexec/podman/conmon',
  '/usr/local/libexec/podman/conmon',
  '/usr/bin/catatonit',
  '/usr/libexec/podman/catatonit',
  '/usr/libexec/catatonit/catatonit',
  '/usr/bin/slirp4netns',
  '/usr/bin/pasta',
  '/usr/bin/pasta.avx2',
  '/usr/bin/fuse-overlayfs',
  '/usr/lib/podman/rootlessport',
  '/usr/libexec/podman/rootlessport',
  '/usr/lib/podman/netavark',
  '/usr/libexec/podman/netavark',
  '/usr/lib/podman/aardvark-dns',
  '/usr/libexec/podman/aardvark-dns',
];
const sshdPrograms = [
  '/usr/sbin/sshd',
  '/usr/lib/openssh/sshd-session',
  '/usr/libexec/openssh/sshd-session',
];

/**
 * All processes of the user in /proc, with their parts. A job of Slurm on this host is Slurm's to end: none of its processes.
 *
 * @param looks where a recent look is enough: what has started since may be missing
 */
export function userProcesses(owner: ProcessOwner, looks?: ProcessLooks): readonly BerthProcess[] {
  const wanted = (uid: number): boolean => belongs(uid, owner);
  const found = looks?.recent(wanted) ?? [...runningProcesses(wanted)];
  return withParts(owner, found);
}

/** As `userProcesses`, with a look that begins after the call, and which others may share. */
export async function currentUserProcesses(
  owner: ProcessOwner,
  looks?: ProcessLooks,
): Promise<readonly BerthProcess[]> {
  const found = await looks?.fresh((uid) => belongs(uid, owner));
  return found === undefined ? userProcesses(owner) : withParts(owner, found);
}

function withParts(owner: ProcessOwner, found: readonly ProcessFacts[]): readonly BerthProcess[] {
  const own = found.filter(({ pid }) => !isInJob(pid, owner.uid));
  if (own.length === 0) return [];
  const support = filesOf(supportPrograms);
  const sshd = filesOf(sshdPrograms);
  const podman = fileId(owner.podman);
  const node = executableId(process.pid);
  const here = namespaceInode(process.pid, 'pid');
  const known = new Set([...support, ...sshd, podman ?? '', node ?? '']);
  // Of those in containers none is looked at: their mounts, which are the user's, would have to be read for it.
  const onHost = new Set(
    own.flatMap(({ pid }) => (namespaceInode(pid, 'pid') === here ? [pid] : [])),
  );
  const programs = new Map([...onHost].map((pid) => [pid, executableId(pid, known, owner.uid)]));
  const isPause = (pid: number): boolean => pid === owner.pausePid && programs.get(pid) === podman;
  // Not in a container, where sessions can run catatonit, too: it is /run/podman-init.
  const supporting = new Set(
    own.flatMap(({ pid }) => (support.has(programs.get(pid) ?? '') || isPause(pid) ? [pid] : [])),
  );
  const { firsts, names } = containerStarts(own, (pid) => supporting.has(pid));
  const byPid = new Map(own.map((facts) => [facts.pid, facts]));
  return own.map((facts): BerthProcess => {
    const container = containerAround(facts, byPid, names);
    const part = (): BerthProcess['part'] => {
      const { pid, parent, pids } = facts;
      if (supporting.has(pid) || firsts.has(pid)) return 'support';
      // What podman's init waits for (podman-run.ts).
      if (firsts.has(parent) && pids.at(-1) === 2) return 'support';
      if (!onHost.has(pid)) return 'inside';
      const program = programs.get(pid) ?? '';
      if (sshd.has(program)) return 'sshd';
      const isBerths = isBerthSupport(owner, pid);
      if (isBerths && program === podman) return 'podman';
      return isBerths || program === node ? 'client' : 'host';
    };
    return { ...facts, part: part(), container, sshdParent: sshdParentOf(facts) };
  });

  function sshdParentOf(facts: ProcessFacts): number | undefined {
    for (const { pid, parent } of withAncestors(facts, byPid, 16))
      if (sshd.has(programs.get(pid) ?? '')) return parent;
    return undefined;
  }
}

/** As `connectionOf`, for one connection. */
export function belongsToConnection(process_: BerthProcess, wanted: ConnectionFilter): boolean {
  return connectionOf(process_, [wanted]) !== undefined;
}

/**
 * Which of the connections started it, by its audit session, which only root can change. On hosts without pam_loginuid, by
 * BERTH_CONNECTION in its environment. Of those on the host, only what sshd started before a session, unless all are wanted.
 */
export function connectionOf<Filter extends ConnectionFilter>(
  { pid, part, session, sshdParent }: BerthProcess,
  connections: readonly Filter[],
): Filter | undefined {
  let environment: readonly string[] | undefined;
  return connections.find((wanted) => {
    const monitor = Number.parseInt(wanted.id, 10);
    const startsSession = sshdParent !== undefined && sshdParent !== monitor;
    if (part === 'sshd' && !wanted.orphanedSshd && !startsSession) return false;
    if (part === 'host' && !wanted.hostProcesses && !startsSession) return false;
    if (wanted.session !== undefined) return session === wanted.session;
    if (part === 'sshd') return false;
    environment ??= initialEnvironment(pid);
    return environment.includes(`BERTH_CONNECTION=${wanted.id}`);
  });
}

/** Whether it was started for Berth's containers, and not for others of the user. */
export function isBerthSupport(
  { directory }: Pick<ProcessOwner, 'directory'>,
  pid: number,
): boolean {
  return hasInitialVariable(pid, `HOME=${directory}`);
}

/**
 * Whether closing the terminal would end it: its session was started from outside the container. Sessions that a
 * daemon inside started, such as the windows of tmux, survive.
 */
export function receivesHangup(process_: BerthProcess, all: readonly BerthProcess[]): boolean {
  const leader = all.find(({ pid }) => pid === process_.leader);
  if (leader === undefined) return true;
  const parent = all.find(({ pid }) => pid === leader.parent);
  return parent?.part !== 'inside';
}

/** Whether a real UID is the user's, or one of their containers'. */
export function belongs(
  uid: number,
  { uid: own, subordinate }: Pick<ProcessOwner, 'uid' | 'subordinate'>,
): boolean {
  return uid === own || subordinate.some(({ start, count }) => uid >= start && uid < start + count);
}

/**
 * Names of the running containers by the inode of their PID namespace. Conmon, the parent of a container's first
 * process, is started with the name; the user can start another conmon with another name.
 */
export function containerNames(all: readonly ProcessFacts[]): ReadonlyMap<number, string> {
  const conmon = filesOf(supportPrograms.filter((path) => path.endsWith('/conmon')));
  const here = namespaceInode(process.pid, 'pid');
  const isConmon = (pid: number): boolean =>
    namespaceInode(pid, 'pid') === here && conmon.has(executableId(pid, conmon) ?? '');
  return containerStarts(all, isConmon).names;
}

/** The first processes of containers, whose parents `isSupport`, and the names as `containerNames`. */
function containerStarts(
  all: readonly ProcessFacts[],
  isSupport: (pid: number) => boolean,
): { readonly firsts: ReadonlySet<number>; readonly names: ReadonlyMap<number, string> } {
  const names = new Map<number, string>();
  const firsts = new Set<number>();
  for (const { pid, parent, pids } of all) {
    if (pids.length < 2 || pids.at(-1) !== 1 || !isSupport(parent)) continue;
    firsts.add(pid);
    const name = containerOf(processArguments(parent));
    const namespace = namespaceInode(pid, 'pid');
    if (name !== undefined && namespace !== undefined) names.set(namespace, name);
  }
  return { firsts, names };
}

/** The value of conmon's option `-n`. */
function containerOf(args: readonly string[]): string | undefined {
  const at = args.indexOf('-n');
  return at === -1 ? undefined : args[at + 1];
}

/** The container around a process, also if the process created further PID namespaces inside. */
export function containerAround(
  facts: ProcessFacts,
  byPid: ReadonlyMap<number, ProcessFacts>,
  names: ReadonlyMap<number, string>,
): string | undefined {
  for (const { pid } of withAncestors(facts, byPid, 32)) {
    const namespace = namespaceInode(pid, 'pid');
    const name = namespace === undefined ? undefined : names.get(namespace);
    if (name !== undefined) return name;
  }
  return undefined;
}

function filesOf(paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.flatMap((path) => fileId(path) ?? []));
}
