import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { isEnded, startOf, statFields } from './process-start.ts';

/** A number that the kernel gives again, and the start that tells its owners apart. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot, /proc/PID/stat field 22; digits. */
  readonly start: string;
}

export interface ProcessFacts extends ProcessId {
  readonly parent: number;
  /** PID of the leader of its terminal session, setsid(2). */
  readonly leader: number;
  /** By a signal, or by a debugger. */
  readonly stopped: boolean;
  /** Real UID, as the reader's user namespace has it. */
  readonly uid: number;
  /** The audit session, /proc/PID/sessionid: every child has its parent's, and only root changes it. */
  readonly session: number | undefined;
  /** The PID in each PID namespace, from the reader's to the innermost. */
  readonly pids: readonly number[];
}

/** What the kernel says where pam_loginuid never ran: AUDIT_SID_UNSET. */
const noSession = 0xffff_ffff;

export function isRunning({ pid, start }: ProcessId): boolean {
  return startOf(pid) === start;
}

/** Whether it is stopped by a signal or a debugger, or is no more. */
export function isStill({ pid, start }: ProcessId): boolean {
  const fields = statFields(pid);
  return fields?.[19] !== start || isEnded(fields) || isStoppedState(fields);
}

function isStoppedState([state]: readonly string[]): boolean {
  return state === 'T' || state === 't';
}

/** The PID of the parent; nothing for a process that is gone. */
export function parentOf(pid: number): number | undefined {
  const fields = statFields(pid);
  return fields === undefined ? undefined : Number(fields[1]);
}

/** @returns Nothing where the kernel keeps none, and for a process that is gone. */
export function sessionOf(pid: number): number | undefined {
  const text = readProc(pid, 'sessionid');
  if (text === undefined || text === '') return undefined;
  const session = Number(text);
  return session === noSession ? undefined : session;
}

/**
 * Every process that runs now with one of these real UIDs; who comes or goes meanwhile may be missed.
 * A host has hundreds of processes, so those of others cost one small read each.
 */
export function* runningProcesses(
  wanted: (uid: number) => boolean = () => true,
): Generator<ProcessFacts> {
  for (const name of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    const pid = Number(name);
    const status = readProc(pid, 'status');
    const uid = Number(/^Uid:\t([0-9]+)/m.exec(status ?? '')?.[1] ?? Number.NaN);
    if (status === undefined || !wanted(uid)) continue;
    const facts = factsOf(pid, uid, status);
    if (facts !== undefined) yield facts;
  }
}

/** @returns Nothing for a process that is gone, or has ended and is only not waited for. */
function factsOf(pid: number, uid: number, status: string): ProcessFacts | undefined {
  const fields = statFields(pid);
  if (fields === undefined || isEnded(fields)) return undefined;
  const pids = /^NSpid:\t([0-9\t]+)/m.exec(status)?.[1];
  return {
    pid,
    start: fields[19] ?? '',
    parent: Number(fields[1]),
    leader: Number(fields[3]),
    stopped: isStoppedState(fields),
    uid,
    session: sessionOf(pid),
    pids: pids === undefined ? [pid] : pids.split('\t').map(Number),
  };
}

/** True where the process was started with exactly this `NAME=value`. Only root may ask of others. */
export function wasStartedWith(pid: number, variable: string): boolean {
  return readProc(pid, 'environ')?.split('\0').includes(variable) ?? false;
}

/** Its arguments, [] for a process that is gone; whatever the process says of itself. */
export function argumentsOf(pid: number): readonly string[] {
  return readProc(pid, 'cmdline')?.split('\0').slice(0, -1) ?? [];
}

/**
 * `DEVICE:INODE` of the program that it runs: the kernel's word, where name and arguments are the
 * process's own. Nothing for a process that is gone.
 */
export function programOf(pid: number): string | undefined {
  return fileOf(`/proc/${pid}/exe`);
}

/** `DEVICE:INODE` of a file, to compare with `programOf`; nothing where there is none. */
export function fileOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** Inode of a namespace of the process, to compare with another's; nothing where it is gone. */
export function namespaceOf(pid: number, kind: 'pid' | 'user'): number | undefined {
  try {
    return statSync(`/proc/${pid}/ns/${kind}`).ino;
  } catch {
    return undefined;
  }
}

/** What of /proc is read here is smaller, but for environments and arguments. */
const buffer = Buffer.alloc(16_384);
const longest = 4 * 1024 * 1024;

/** A process may go at any moment, and what is not allowed to be read is not there for us. */
function readProc(pid: number, file: string): string | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(`/proc/${pid}/${file}`, 'r');
    let text = '';
    // A file of /proc has no size before it is read.
    for (let read = -1; read !== 0 && text.length < longest;) {
      read = readSync(descriptor, buffer, 0, buffer.length, null);
      text += buffer.toString('latin1', 0, read);
      if (read < buffer.length && file === 'status') break;
    }
    return text;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
