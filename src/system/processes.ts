import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { directoryNames, ifReadable } from './if-present.ts';
import { descriptorFacts, O_PATH, whileOpen } from './path-descriptor.ts';
import { hasEndedThread, isZombie, processStartTime, procStatFields } from './process-start.ts';
import { processStatus, realUid, statusField } from './proc-status.ts';

/** A PID, which the kernel reuses, and the start time that makes it unique. */
export interface ProcessId {
  /** The ID of another thread if the first one has ended: /proc and kill(2) take it in place of the process's own. */
  readonly pid: number;
  /** Clock ticks since boot, /proc/PID/stat field 22; digits. */
  readonly start: string;
}

export interface ProcessFacts extends ProcessId {
  readonly parent: number;
  /** PID of the leader of its terminal session, setsid(2). */
  readonly leader: number;
  /** Stopped by a signal or a debugger. */
  readonly stopped: boolean;
  /** Real UID, in the reader's user namespace. */
  readonly uid: number;
  /** The audit session, /proc/PID/sessionid. Children inherit it, and only root can change it. */
  readonly session: number | undefined;
  /** The PID in each PID namespace, from the reader's to the innermost. */
  readonly pids: readonly number[];
}

/** AUDIT_SID_UNSET: pam_loginuid has not run. */
const noSession = 0xffff_ffff;

export function isRunning({ pid, start }: ProcessId): boolean {
  return processStartTime(pid) === start;
}

/** The same, as this user. Another user's process that has got the PID by now is not looked at: that may take for ever (`pidsByUid`). */
export function isRunningAs({ pid, start }: ProcessId, uid: number): boolean {
  return processFacts(pid, (one) => one === uid)?.start === start;
}

/** The PID of the parent; undefined for a process that has ended. */
export function parentPid(pid: number): number | undefined {
  const fields = procStatFields(pid);
  return fields === undefined ? undefined : Number(fields[1]);
}

/** The audit session. @returns undefined if there is none, or the process has ended */
export function auditSession(pid: number): number | undefined {
  const text = readProc(pid, 'sessionid');
  if (text === undefined || text === '') return undefined;
  const session = Number(text);
  return session === noSession ? undefined : session;
}

/**
 * All running processes with one of these real UIDs. Processes that start or end meanwhile may be missed. Each process of
 * another user costs one stat(2), each of root's one small read.
 *
 * /proc/PID belongs to the effective UID, also of a process that may not be dumped (`task_dump_owner` in Linux). Where that is
 * another user's, the real UID is one of the wanted only in a program that this other user, or the admin for them, has made
 * setuid: in a container of the wanted user, all UIDs are wanted, and the kernel ignores setuid files of others. Setuid
 * programs of root are found.
 */
export function* runningProcesses(
  wanted: (uid: number) => boolean = () => true,
): Generator<ProcessFacts> {
  // Root may run with any effective UID, as sshd does while it reads a user's keys.
  for (const pid of wanted(0) ? allPids() : pidsOf(pidsByUid(), wanted)) {
    const facts = processFacts(pid, wanted);
    if (facts !== undefined) yield facts;
  }
}

export type PidsByUid = ReadonlyMap<number, readonly number[]>;

export function pidsOf(byUid: PidsByUid, wanted: (uid: number) => boolean): readonly number[] {
  return [...byUid].flatMap(([uid, pids]) => (wanted(uid) ? pids : []));
}

/**
 * The PIDs of all users, by UID: the effective one, but the real one of what root's setuid programs run. The kernel always answers: a
 * process whose execve(2) waits for a FUSE file system of its user holds `exec_update_lock`, and `stat`, `environ` and `exe` in /proc wait
 * for that, but not stat(2), `status` and `cgroup`.
 */
export function pidsByUid(): PidsByUid {
  return Map.groupBy(allPids(), (pid) => effectiveUid(pid) || realUid(processStatus(pid)));
}

export function allPids(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);
}

/** NaN for a process that has ended. */
function effectiveUid(pid: number): number {
  return ifReadable(() => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid) ?? Number.NaN;
}

/** A process and its ancestors, as far as they are known. @param most how many of them are looked at */
export function withAncestors<Facts extends ProcessFacts>(
  facts: Facts,
  byPid: ReadonlyMap<number, Facts>,
  most: number,
): readonly Facts[] {
  const found: Facts[] = [];
  for (
    let at: Facts | undefined = facts;
    at !== undefined && found.length < most;
    at = byPid.get(at.parent)
  )
    found.push(at);
  return found;
}

/** @returns undefined for a process that has ended, or whose real UID is not wanted */
export function processFacts(
  pid: number,
  wanted: (uid: number) => boolean = () => true,
): ProcessFacts | undefined {
  const status = processStatus(pid);
  if (status === undefined) return undefined;
  const uid = realUid(status);
  if (!wanted(uid)) return undefined;
  const fields = procStatFields(pid);
  if (fields === undefined || isZombie(fields)) return undefined;
  const thread = hasEndedThread(fields) ? livingThread(pid) : undefined;
  if (thread !== undefined) return processFacts(thread, wanted);
  const pids = statusField(status, 'NSpid');
  return {
    pid,
    start: fields[19] ?? '',
    parent: Number(fields[1]),
    leader: Number(fields[3]),
    stopped: ['T', 't'].includes(fields[0] ?? ''),
    uid,
    session: auditSession(pid),
    pids: pids === undefined ? [pid] : pids.split('\t').map(Number),
  };
}

/** ID of a thread that runs; undefined if all have ended meanwhile. */
function livingThread(pid: number): number | undefined {
  return directoryNames(`/proc/${pid}/task`)
    .map(Number)
    .find((thread) => {
      const fields = procStatFields(thread);
      return fields !== undefined && !hasEndedThread(fields);
    });
}

/** The `NAME=value` that a process was started with; [] if it has ended. Only root can read it for other users. */
export function initialEnvironment(pid: number): readonly string[] {
  return readProc(pid, 'environ')?.split('\0') ?? [];
}

/** Whether the process was started with exactly this `NAME=value`. */
export function hasInitialVariable(pid: number, variable: string): boolean {
  return initialEnvironment(pid).includes(variable);
}

/** The arguments, which the process can change; [] for a process that has ended. */
export function processArguments(pid: number): readonly string[] {
  return readProc(pid, 'cmdline')?.split('\0').slice(0, -1) ?? [];
}

/**
 * `DEVICE:INODE` of the program that a process runs. Unlike name and arguments, the process cannot change it. Undefined for
 * a process that has ended.
 *
 * @param among the IDs of interest; for most other programs undefined is returned, without the look for their device
 * @param owner as of `mountLines`
 */
export function executableId(
  pid: number,
  among?: ReadonlySet<string>,
  owner?: number,
): string | undefined {
  return fileId(`/proc/${pid}/exe`, { pid, among, owner });
}

/** Path of the program that a process runs, with ` (deleted)` if it was replaced; undefined for one that has ended. */
export function executablePath(pid: number): string | undefined {
  return ifReadable(() => readlinkSync(`/proc/${pid}/exe`));
}

/**
 * `DEVICE:INODE` of a file, to compare with `executableId`; undefined if it does not exist. The kernel alone is asked: stat(2) asks
 * the file system, and one of a user (FUSE below an overlay) may never answer. Before Linux 5.14 there is only stat(2).
 *
 * @param pid a process that sees its mount; default: this process
 */
export function fileId(
  path: string,
  {
    pid = process.pid,
    among,
    owner,
  }: {
    readonly pid?: number;
    readonly among?: ReadonlySet<string> | undefined;
    readonly owner?: number | undefined;
  } = {},
): string | undefined {
  return ifReadable(() =>
    whileOpen(openSync(path, O_PATH), (descriptor) => {
      const { mount, inode } = descriptorFacts(descriptor);
      if (inode === undefined) return idByStat(path);
      if (among !== undefined && ![...among].some((id) => id.endsWith(`:${inode}`)))
        return undefined;
      for (const line of mountLines(pid, owner))
        if (line.startsWith(`${mount} `)) return `${line.split(' ')[2]}:${inode}`;
      return undefined;
    }),
  );
}

function idByStat(path: string): string {
  const { dev, ino } = statSync(path);
  return `${dev}:${ino}`;
}

/** What is read of each list of mounts. Bytes. */
const usualMounts = 64 * 1024;

/** What is read beyond that of all lists of a user, who can make 100,000 mounts in each of many namespaces. Bytes. */
const mostMounts = 16 * 1024 * 1024;
const readMounts = new Map<number, number>();

/**
 * The lines of proc_pid_mountinfo(5), from the first; not all if they are too many. None if the process has ended.
 *
 * @param owner UID of the user whose it is, also if it has a subordinate UID; default: the same limit for all whose user is not known
 */
export function* mountLines(pid: number, owner = 0): Generator<string> {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(`/proc/${pid}/mountinfo`, 'r');
    let [rest, total] = ['', 0];
    for (;;) {
      const before = readMounts.get(owner) ?? 0;
      if (total >= usualMounts && before >= mostMounts) return;
      const read = readSync(descriptor, buffer, 0, buffer.length, null);
      if (read === 0) return;
      total += read;
      if (total > usualMounts) readMounts.set(owner, before + read);
      const lines = (rest + buffer.toString('latin1', 0, read)).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch {
    // It has ended.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Inode of a namespace of the process, for comparison; undefined if the process has ended. */
export function namespaceInode(pid: number, kind: 'pid' | 'user'): number | undefined {
  return ifReadable(() => statSync(`/proc/${pid}/ns/${kind}`).ino);
}

/** Larger than the files of /proc that are read here, except environments and arguments. */
const buffer = Buffer.alloc(16_384);
const longest = 4 * 1024 * 1024;

/** @returns undefined if the process has ended, or the file may not be read */
function readProc(pid: number, file: string): string | undefined {
  return ifReadable(() =>
    whileOpen(openSync(`/proc/${pid}/${file}`, 'r'), (descriptor) => {
      let text = '';
      // A file of /proc has no size before it is read.
      for (let read = -1; read !== 0 && text.length < longest;) {
        read = readSync(descriptor, buffer, 0, buffer.length, null);
        text += buffer.toString('latin1', 0, read);
      }
      return text;
    }),
  );
}

/** A process and its parent, by their numbers in one PID namespace. */
interface ProcessWithParent {
  readonly pid: number;
  readonly parent: number;
}

/** A user can make chains of parents of any length; processes below this depth share the last layer. */
const mostLayers = 32;

/**
 * The processes that have children in `all`, in layers from the top: stop every process of a layer before
 * the next layer. A shell that still runs when its job stops is told so by wait(2) with WUNTRACED, and takes the
 * terminal back permanently.
 */
export function parentsFirst<Process extends ProcessWithParent>(
  all: readonly Process[],
): Process[][] {
  const parents = new Set(all.map(({ parent }) => parent));
  const byPid = new Map(all.map((one) => [one.pid, one]));
  const layers: Process[][] = [];
  for (const one of all) {
    if (!parents.has(one.pid)) continue;
    let depth = 0;
    for (let at = byPid.get(one.parent); at && depth < mostLayers - 1; at = byPid.get(at.parent))
      depth += 1;
    (layers[depth] ??= []).push(one);
  }
  return layers.filter((layer) => layer.length > 0);
}
