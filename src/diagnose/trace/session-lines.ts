import { hostLabel, type SessionIdParts } from '../../system/program/session-id.ts';
import type { LogLine } from './log-line.ts';

/** How long before the first and after the last line of Berth a line of sshd is the session's. Milliseconds. */
const aroundMs = 300_000;

/** Most lines that are kept. */
export const mostLines = 50_000;

/** Collects the lines of a session, in any order. Without a host, those of any. */
export class SessionLines {
  readonly #process: string;
  readonly #wanted: RegExp;
  readonly #pid: number;
  /** PIDs of sshd's processes for the user, as its monitor names them (`LogLevel VERBOSE`), at any time. */
  readonly children = new Set<number>();
  readonly #own: LogLine[] = [];
  readonly #ofSshd: LogLine[] = [];

  constructor({ process, host }: SessionIdParts) {
    const [pid] = process.split('.');
    this.#process = process;
    this.#pid = Number(pid);
    const name = `${process.replace('.', '\\.')}@${host ?? '[a-z0-9-]+'}`;
    this.#wanted = new RegExp(`(?<![\\d.])${name}(?![a-z0-9-])`);
  }

  /** Whether there were more than are kept. */
  get isFull(): boolean {
    return this.#own.length + this.#ofSshd.length >= mostLines;
  }

  /** Whether a line of a file, in any format, can be of the session. */
  mayHave(line: string): boolean {
    if (line.includes(this.#process)) return true;
    const pids = line.includes('sshd') ? [this.#pid, ...this.children] : [];
    return pids.some((pid) => line.includes(`${pid}`));
  }

  names(text: string): boolean {
    return this.#wanted.test(text);
  }

  /** Takes the line if it is of the session. */
  add(line: LogLine): void {
    if (this.isFull) return;
    const isSshd = line.source.startsWith('sshd');
    // sshd logs names and texts of clients that have not logged in: what they say of a session is nothing.
    if (!isSshd && this.names(line.text)) this.#own.push(line);
    if (!isSshd || line.pid === undefined) return;
    if (line.pid === this.#pid || this.children.has(line.pid)) this.#ofSshd.push(line);
    const child = /^User child is on pid (\d{1,10})$/.exec(line.text)?.[1];
    if (line.pid === this.#pid && child !== undefined) this.children.add(Number(child));
  }

  /** All lines by time: those that name the session, and those of its sshd at that time on a host that names it. */
  sorted(): LogLine[] {
    const times = this.#own.map(({ time }) => time);
    const [first, last] = [Math.min(...times) - aroundMs, Math.max(...times) + aroundMs];
    const hosts = new Set(
      this.#own.flatMap(({ text }) => this.#wanted.exec(text)?.[0].split('@')[1] ?? []),
    );
    const ofSshd = this.#ofSshd.filter(
      ({ time, host }) => time >= first && time <= last && hosts.has(hostLabel(host)),
    );
    return [...this.#own, ...ofSshd].sort((one, other) => one.time - other.time);
  }
}
