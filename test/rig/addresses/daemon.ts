import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';

/** Runs its arguments until stdin ends, and sends the program the signals whose names it reads there. */
const keeper = `exec 3<&0 </dev/null
"$@" 3<&- & program=$!
(while read -r signal <&3; do kill -"$signal" "$program"; done; kill "$program") &
wait "$program"`;

/** A server that a test runs. It ends with the test process, also in the PID namespace of a node. */
export class Daemon {
  readonly #log: string;
  readonly #process: ChildProcess;

  private constructor(log: string, process: ChildProcess) {
    this.#log = log;
    this.#process = process;
  }

  /**
   * @param enter command line that runs another one in namespaces, such as nsenter(1) with its arguments
   * @param log file that gets stdout and stderr
   */
  static async start(
    enter: readonly string[],
    argv: readonly string[],
    log: string,
  ): Promise<Daemon> {
    const output = await open(log, 'a', 0o600);
    const [file = '', ...args] = [...enter, 'bash', '-c', keeper, 'bash', ...argv];
    const child = spawn(file, args, {
      stdio: ['pipe', output.fd, output.fd],
      cwd: '/',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    child.stdin?.on('error', () => undefined);
    await once(child, 'spawn');
    await output.close();
    return new Daemon(log, child);
  }

  log(): Promise<string> {
    return readFile(this.#log, 'utf8');
  }

  /** @throws Error with the program's output if it has exited */
  async assertRunning(): Promise<void> {
    if (this.#process.exitCode !== null) throw new Error(`exited: ${await this.log()}`);
  }

  /** Kills the program, without a chance to clean up. */
  async kill(): Promise<void> {
    await this.#end(() => this.#process.stdin?.write('KILL\n'));
  }

  /** Ends the program with SIGTERM. */
  async stop(): Promise<void> {
    await this.#end(() => this.#process.stdin?.end());
  }

  async #end(ask: () => unknown): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    ask();
    await exited;
    this.#process.stdin?.end();
  }
}
