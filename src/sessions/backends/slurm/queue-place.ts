import { readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { expectErrno } from '../../../system/errors/berth-error.ts';
import { isTerminal } from '../../../system/controlling-terminal.ts';
import { exitNow } from '../../../system/exit-now.ts';
import { isDeadMark, processMark } from '../../../system/temporary-name.ts';
import { allocationFiles } from './argv/allocation-script.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A job that has not started. */
export interface QueuedJob {
  readonly id: string;
  readonly cancel: () => Promise<void>;
}

/**
 * A login among those of an allocation, which see each other. If it is told to end before its session, by ctrl-C or
 * because its connection is gone, and there is no other login, it gives the job up.
 */
export class QueuePlace {
  #directory: string | undefined;
  #job: QueuedJob | undefined;
  #holds = false;
  #isTold = false;

  /** A job is being submitted: from here on, this login does not end before it knows its number. */
  hold(): void {
    this.#holds = true;
    for (const signal of signals) process.on(signal, this.#onSignal);
  }

  /**
   * @param allocation directory of the allocation, which all logins of the user see
   * @param job undefined if it has started: then it sees itself when it is not used
   */
  take(allocation: string, job: QueuedJob | undefined): void {
    this.#directory = `${allocation}/${allocationFiles.logins}`;
    this.#job = job;
    try {
      writeFileSync(`${this.#directory}/${processMark()}`, '', { mode: 0o600 });
    } catch (error) {
      // The others do not see this login, or the job has just ended.
      expectErrno(error);
    }
    if (this.#isTold) this.#leave(this.#directory);
    else if (!this.#holds) this.hold();
  }

  /** The session begins: from here on, the job sees itself when it is not used. */
  sessionBegins(): void {
    this.#job = undefined;
  }

  /** The login ends without a session, and nobody else uses its job. */
  async abandon(): Promise<void> {
    this.end();
    await this.#job?.cancel().catch(() => undefined);
  }

  /** The login ends. */
  end(): void {
    if (this.#directory !== undefined)
      rmSync(`${this.#directory}/${processMark()}`, { force: true });
  }

  #onSignal = (): void => {
    const isFirst = !this.#isTold;
    this.#isTold = true;
    if (isFirst && this.#directory !== undefined) this.#leave(this.#directory);
  };

  #leave(directory: string): void {
    this.end();
    const job = this.#others(directory) ? undefined : this.#job;
    void Promise.resolve(job && cancelled(job)).then(() => exitNow(255));
  }

  #others(directory: string): boolean {
    try {
      return readdirSync(directory).some((mark) => !isDeadMark(mark));
    } catch (error) {
      expectErrno(error);
      return false;
    }
  }
}

/** Who pressed ctrl-C is told; who has lost the connection has no terminal. */
async function cancelled({ id, cancel }: QueuedJob): Promise<void> {
  try {
    await cancel();
    if (isTerminal(2)) writeSync(2, `\r\u001b[KSlurm job ${id} was cancelled\n`);
  } catch {
    // The job ends by itself when it starts.
  }
}
