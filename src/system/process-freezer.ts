import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { BerthError } from '../errors/berth-error.ts';
import { freezeScript } from '../freeze-script.ts';
import { sourceText } from '../source-text.ts';
import { isRunning, type ProcessId } from './processes.ts';

/** Which processes are stopped. */
export interface FreezerTarget {
  /** The user's UID. Processes of other users are not affected. */
  readonly uid: number;
  readonly gid: number;
  /** First process of the user's container. If absent, all processes of the user on this host are stopped. */
  readonly first?: ProcessId;
  /** Path of nsenter(1). */
  readonly nsenter: string;
}

/** Time limit of an answer; shorter than the time after which the processes continue by themselves. Milliseconds. */
const patienceMs = 12_000;

/**
 * Stops all processes of a user in a PID namespace at one moment. A process that keeps forking a successor and exiting has
 * ended before a signal to its PID arrives, but kill(2) with -1 holds the lock that fork(2) needs.
 *
 * It is a shell with the user's UID and without any of root's privileges: it reaches what the user may signal, in the
 * container's namespaces or on the host. The user can forge its answers.
 */
export class ProcessFreezer {
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;
  #said = '';
  #answer: ((line: string | undefined) => void) | undefined;

  private constructor(shell: ChildProcessByStdio<Writable, Readable, null>) {
    this.#shell = shell;
    shell.stdout.setEncoding('latin1').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-longestAnswer);
      const end = this.#said.indexOf('\n');
      if (end < 0) return;
      this.#answer?.(this.#said.slice(0, end));
      this.#said = '';
    });
    const gone = (): void => this.#answer?.(undefined);
    shell.on('error', gone).on('exit', gone);
    shell.stdin.on('error', gone);
  }

  /** @returns undefined if the container has ended */
  static enter({ uid, gid, first, nsenter }: FreezerTarget): ProcessFreezer | undefined {
    const options = { uid, gid, cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } };
    if (first === undefined)
      return new ProcessFreezer(spawn('/bin/sh', ['-c', script], { ...options, stdio }));
    const open: number[] = [];
    try {
      for (const kind of ['user', 'pid']) open.push(openSync(`/proc/${first.pid}/ns/${kind}`, 'r'));
      // Another process may have had its PID when the namespaces were opened.
      if (!isRunning(first)) return undefined;
      // Without nsenter's fork, which stops itself when its child is stopped, for example by the freezer of another
      // connection, and would then keep the namespace forever.
      const around = ['/bin/sh', '-c', '/bin/sh -c "$0"; :', script];
      const namespaces = ['--user=/proc/self/fd/3', '--pid=/proc/self/fd/4', '--no-fork'];
      const words = [...namespaces, '--', ...around];
      const child = spawn(nsenter, words, { ...options, stdio: [...stdio, ...open] });
      return new ProcessFreezer(child as unknown as ChildProcessByStdio<Writable, Readable, null>);
    } catch (error) {
      if (!isRunning(first)) return undefined;
      throw error;
    } finally {
      for (const descriptor of open) closeSync(descriptor);
    }
  }

  /** PID of the shell. It and its children are not processes of the user's sessions. */
  get pid(): number | undefined {
    return this.#shell.pid;
  }

  /**
   * The PID that was assigned last in this namespace. If it is the same before and after listing all processes, no process
   * was started in between.
   *
   * @throws {BerthError} `freezer-failed`
   */
  lastPid(): Promise<string> {
    return this.#ask('last');
  }

  /** From now on all processes continue when the freezer ends, also those that the caller stops. @throws as `lastPid` */
  async hold(): Promise<void> {
    await this.#ask('hold');
  }

  /** Stops all. They continue by themselves after some seconds, even if this process is killed. @throws as `lastPid` */
  async freeze(): Promise<void> {
    await this.#ask('freeze');
  }

  /**
   * Continues the processes.
   *
   * @param all false if the caller has continued them itself, because some were stopped before
   */
  async thaw(all: boolean): Promise<void> {
    await this.#ask(all ? 'thaw' : 'thawed');
  }

  leave(): void {
    this.#shell.stdin.end();
    this.#shell.stdout.destroy();
  }

  async #ask(word: string): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#answer = resolve;
    const timer = setTimeout(() => resolve(undefined), patienceMs);
    if (this.#shell.exitCode === null) this.#shell.stdin.write(`${word}\n`);
    else resolve(undefined);
    const answer = await promise;
    clearTimeout(timer);
    this.#answer = undefined;
    if (answer !== undefined) return answer;
    const { exitCode, signalCode } = this.#shell;
    const how =
      exitCode === null && signalCode === null
        ? `did not answer '${word}' within ${patienceMs / 1000} s`
        : `ended before it answered '${word}'`;
    throw new BerthError(`the shell that stops processes ${how}`, { code: 'freezer-failed' });
  }
}

const longestAnswer = 4096;
const stdio: ['pipe', 'pipe', 'ignore'] = ['pipe', 'pipe', 'ignore'];

const script = freezeScript + sourceText('./freezer.sh', import.meta.url);
