import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { BerthError } from '../errors.ts';
import { freezeFunctions } from '../freeze-functions.ts';
import { sourceText } from '../source-text.ts';
import { isRunning, type ProcessId } from './processes.ts';

/** Whose processes are stopped, and where. */
export interface FreezerPlace {
  /** Of the user; nobody else's processes are reached. */
  readonly uid: number;
  readonly gid: number;
  /** The first process of the user's container; where absent, all processes of the user on this host. */
  readonly first?: ProcessId;
  /** Path of nsenter(1). */
  readonly nsenter: string;
}

/** Less than who is frozen waits for us. Milliseconds. */
const patienceMs = 12_000;

/**
 * Stops all processes of a user in a PID namespace at one moment: who forks a successor and ends is never
 * there when a signal for its PID arrives, and kill(2) with -1 holds the lock that fork(2) needs.
 *
 * It is a shell of the user's UID, started with nothing of root's: it reaches what the user may signal, in
 * the container's namespaces or on the host. What it says is the user's word.
 */
export class Freezer {
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

  /** @returns Nothing where the container has ended. */
  static enter({ uid, gid, first, nsenter }: FreezerPlace): Freezer | undefined {
    const options = { uid, gid, cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } };
    if (first === undefined)
      return new Freezer(spawn('/bin/sh', ['-c', script], { ...options, stdio }));
    const open: number[] = [];
    try {
      for (const kind of ['user', 'pid']) open.push(openSync(`/proc/${first.pid}/ns/${kind}`, 'r'));
      // Its number may have been another's when the namespaces were opened.
      if (!isRunning(first)) return undefined;
      // Not nsenter's own fork: it stops itself with a child that is stopped, by the freezer of another
      // connection say, and its end would then keep the namespace for ever.
      const around = ['/bin/sh', '-c', '/bin/sh -c "$0"; :', script];
      const namespaces = ['--user=/proc/self/fd/3', '--pid=/proc/self/fd/4', '--no-fork'];
      const words = [...namespaces, '--', ...around];
      const child = spawn(nsenter, words, { ...options, stdio: [...stdio, ...open] });
      return new Freezer(child as unknown as ChildProcessByStdio<Writable, Readable, null>);
    } catch (error) {
      if (!isRunning(first)) return undefined;
      throw error;
    } finally {
      for (const descriptor of open) closeSync(descriptor);
    }
  }

  /** Of the shell's own process, whose children are no processes of the user's work. */
  get pid(): number | undefined {
    return this.#shell.pid;
  }

  /**
   * The last PID that was given in this namespace: where it is the same before and after a look at all
   * processes, nobody came or went unseen.
   *
   * @throws {BerthError} `freezer-failed`
   */
  lastPid(): Promise<string> {
    return this.#ask('last');
  }

  /** From here on all go on at the end of the freezer, also whom the caller stops itself. @throws as `lastPid` */
  async hold(): Promise<void> {
    await this.#ask('hold');
  }

  /** They go on by themselves after some seconds, whatever becomes of us. @throws as `lastPid` */
  async freeze(): Promise<void> {
    await this.#ask('freeze');
  }

  /**
   * Lets all of them go on.
   *
   * @param all False where the caller has seen to each, because some were stopped before.
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
    throw new BerthError(`the shell that stops processes ${how}`, {
      code: 'freezer-failed',
      exit: 'temporary',
      hint: 'Check that the user can run /bin/sh and nsenter: limits of processes (nproc, pids.max) and memory.',
    });
  }
}

const longestAnswer = 4096;
const stdio: ['pipe', 'pipe', 'ignore'] = ['pipe', 'pipe', 'ignore'];

const script = freezeFunctions + sourceText('./freezer.sh', import.meta.url);
