import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import { childOf } from '../site/processes.ts';
import { removeTestCgroups } from '../site/test-cgroups.ts';
import { waitFor } from '../wait-for.ts';

export interface SystemOptions {
  /** Path of a script that executes systemd, and writes its cgroup's name into DIRECTORY/cgroup. */
  readonly init: string;
  /** The script's first argument. `stop` removes it. */
  readonly directory: string;
  /** Further arguments of the script. */
  readonly args?: readonly string[];
  /** Asks systemctl(1) on the host whether it has booted. */
  readonly ready: { readonly command: readonly string[]; readonly answer: RegExp };
}

/** A systemd that is the first process of its own mount, PID, IPC and UTS namespaces. The network is the machine's. */
export class BootedSystem {
  readonly directory: string;
  readonly #unshare: ChildProcess;
  readonly #init: number;

  private constructor(directory: string, unshare: ChildProcess, init: number) {
    this.directory = directory;
    this.#unshare = unshare;
    this.#init = init;
  }

  /** Boots a host. @throws Error with what it printed if systemd does not start */
  static async boot({ init, directory, args = [], ready }: SystemOptions): Promise<BootedSystem> {
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
    const printed = join(directory, 'console');
    const log = await open(printed, 'a', 0o600);
    const unshare = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'bash', init, directory, ...args],
      { stdio: ['ignore', log.fd, log.fd], env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
    );
    await log.close();
    const waiting = { what: 'the first process of the host', timeoutMs: 60_000, everyMs: 10 };
    const first = await waitFor(waiting, () => childOf(unshare.pid));
    const system = new BootedSystem(directory, unshare, first);
    const alive = async (): Promise<void> => {
      if (unshare.exitCode !== null)
        throw new Error(`it exited: ${await readFile(printed, 'utf8')}`);
    };
    const what = { what: 'systemd to boot', timeoutMs: 240_000, everyMs: 50, alive };
    await waitFor(what, async () => {
      const { stdout } = await system.run(['systemctl', ...ready.command]);
      return ready.answer.test(stdout.toString()) || undefined;
    });
    return system;
  }

  /**
   * A command line that runs `argv` on this host as root.
   *
   * @param namespaces options of nsenter(1)
   */
  enter(argv: readonly string[], namespaces: readonly string[] = ['--mount', '--pid']): string[] {
    return ['nsenter', '--target', String(this.#init), ...namespaces, '--', ...argv];
  }

  /** Runs a command as root on the host. */
  run(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const all = ['--mount', '--pid', '--ipc', '--uts', '--cgroup'];
    const environment = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LANG=C.UTF-8'];
    const [file = '', ...args] = this.enter([...environment, ...argv], all);
    return run(file, args, options);
  }

  /** Stops the host with all its processes. */
  async stop(): Promise<void> {
    const ended = once(this.#unshare, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await ended;
    await removeTestCgroups(this.directory);
    await rm(this.directory, { recursive: true });
  }
}
