import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ClientOptions, ClientResult } from '../../../src/companions/verify/run-client.ts';
import type { SshHost } from '../login-node/ssh-host.ts';
import { installDirectory } from '../site/portal.ts';
import { removeCgroup } from '../site/kubernetes-node/cgroups.ts';
import { freePorts } from '../free-ports.ts';
import { waitFor } from '../wait-for.ts';
import { cgroupConf, cgroups, controllers, gresConf, slurmConf } from './slurm-config.ts';

/** Debian's packages. A host copies the accounts that they create, so install them before it starts. */
export const slurmPackages = ['slurm-wlm', 'munge'];

const config = '/etc/slurm';
const munge = '/run/munge';

/** The first host's cluster by other paths, as at a site that has built Slurm and munge itself. */
export const otherSlurmPaths = { config: '/etc/slurm-of-site', munge: '/run/munge-of-site' };

const libraries = '/usr/lib/x86_64-linux-gnu';

/** Mounts of the host's Slurm commands, libraries and plugins, for an image of the same Debian release. */
export const slurmClientMounts = [
  ...['srun', 'sbatch', 'scancel', 'squeue', 'sinfo'].map((command) => `/usr/bin/${command}`),
  ...[`${libraries}/slurm-wlm`, `${libraries}/libmunge.so.2`],
].map((source) => ({ source, read_only: true }));

/** States in which a job has ended. */
const ended = ['COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL', 'OUT_OF_MEMORY'];

/**
 * A Slurm cluster on a test's hosts: munged and slurmd on each, slurmctld on the first, partition `debug`, no accounting.
 * The daemons run in the hosts' namespaces and end with the hosts. Jobs are confined by cgroup v1.
 */
export class SlurmCluster {
  /**
   * The nodes' names, with an underscore as a site's may have it. The hosts resolve the first: of the others, only Slurm has
   * the address. Cgroups contain them, and all clusters of the machine share those.
   */
  readonly nodes: readonly string[];
  readonly #hosts: readonly [SshHost, ...SshHost[]];
  /** Those with slurmd. */
  readonly #compute: readonly SshHost[];
  /** The address of slurmctld. */
  readonly #controller: string;
  readonly #conf: string;
  readonly #jobSubmit: string;

  private constructor(
    hosts: readonly [SshHost, ...SshHost[]],
    compute: readonly SshHost[] = hosts,
    controller = hosts[0].address,
    conf = '',
    jobSubmit = '',
  ) {
    this.#hosts = hosts;
    this.#compute = compute;
    this.#controller = controller;
    this.#conf = conf;
    this.#jobSubmit = jobSubmit;
    const id = randomBytes(3).toString('hex');
    this.nodes = compute.map((_, index) => `node_${index + 1}-${id}`);
  }

  /** Starts the daemons. @throws Error with the daemons' logs; the hosts are stopped then */
  static start(...hosts: readonly [SshHost, ...SshHost[]]): Promise<SlurmCluster> {
    return SlurmCluster.#started(new SlurmCluster(hosts));
  }

  /**
   * The same with a login node that runs slurmctld and no jobs.
   *
   * @param address its address for the compute nodes
   * @param jobSubmit the site's job_submit.lua, if `conf` has the plugin
   */
  static startBehind(
    login: SshHost,
    address: string,
    compute: readonly SshHost[],
    conf: string,
    jobSubmit?: string,
  ): Promise<SlurmCluster> {
    const hosts = [login, ...compute] as const;
    return SlurmCluster.#started(new SlurmCluster(hosts, compute, address, conf, jobSubmit));
  }

  static async #started(cluster: SlurmCluster): Promise<SlurmCluster> {
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Runs a command as a user on the first host. @throws Error if it fails */
  as(user: string, argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    return this.#checked(argv, this.#hosts[0].asUser(user, argv, options));
  }

  /** Submits a script as a user; it starts in the user's home. @returns the job's number */
  async sbatch(user: string, script: string, options: readonly string[] = []): Promise<string> {
    const { stdout } = await this.as(user, ['sbatch', '--parsable', ...options], { input: script });
    return stdout.toString().trim();
  }

  /** A field of `scontrol show job`, such as `JobState` or `ExitCode`. */
  async field(job: string, name: string): Promise<string | undefined> {
    const { stdout } = await this.#root(['scontrol', '--oneliner', 'show', 'job', job]);
    return new RegExp(`(?:^| )${name}=(\\S*)`).exec(stdout.toString())?.[1];
  }

  /** Waits until a job has a state, such as `RUNNING`. @throws Error if it ends in another one */
  async waitForState(job: string, wanted: string): Promise<void> {
    const reached = await waitFor(
      { what: `job ${job} to be ${wanted}`, timeoutMs: 60_000, everyMs: 50 },
      async () => {
        const state = (await this.field(job, 'JobState')) ?? '';
        return state === wanted || ended.includes(state) ? state : undefined;
      },
    );
    if (reached !== wanted) throw new Error(`job ${job} is ${reached}, not ${wanted}`);
  }

  /** Stops the hosts, and with them daemons and jobs, and removes the nodes' cgroups. */
  async stop(): Promise<void> {
    for (const host of this.#hosts.toReversed()) await host.stop();
    for (const node of this.nodes)
      for (const controller of controllers)
        await removeCgroup(`/sys/fs/cgroup/${controller}/slurm_${node}`);
  }

  async #start(): Promise<void> {
    const [first] = this.#hosts;
    const own = join(first.directory, 'slurm');
    const ports: Record<string, number> = await freePorts(['slurmctld', ...this.nodes]);
    const nodes = this.#compute.map(({ name: host, address }, index) => {
      const name = this.nodes[index] ?? '';
      return { name, host, address, port: ports[name] ?? 0 };
    });
    const controller = { name: first.name, address: this.#controller };
    const text = slurmConf({
      ...{ own, controller, nodes, slurmctld: ports.slurmctld ?? 0, more: this.#conf },
    });
    const [known] = nodes;
    await this.#root(['install', '-d', own]);
    await this.#root(['install', '-d', '-o', 'slurm', `${own}/state`]);
    await this.#root(['install', '-d', '-o', 'munge', '-m', '0700', `${own}/munge`]);
    await this.#munge(['mungekey', '--create', `--keyfile=${own}/munge/key`]);
    for (const host of this.#hosts) {
      await this.#root(
        ['tee', '--append', '/etc/hosts'],
        host,
        `${known?.address} ${known?.name}\n`,
      );
      await this.#configure(config, text, host);
      const epilog = join(installDirectory, 'share/etc/slurm/berth-epilog');
      await this.#root(['install', '-m', '0755', epilog, config], host);
      await this.#startMunge(host);
    }
    await this.#configure(
      otherSlurmPaths.config,
      `${text}AuthInfo=socket=${otherSlurmPaths.munge}/munge.socket.2\n`,
    );
    await this.#root(['ln', '-s', munge, otherSlurmPaths.munge]);

    await this.startController();
    for (const host of this.#compute) await this.startNode(host);
    await this.waitForNodes();
  }

  /** Starts slurmctld, also after it has ended. */
  async startController(): Promise<void> {
    await this.#root(['slurmctld', '-f', `${config}/slurm.conf`]);
  }

  /** Ends slurmctld as systemctl(1) does, and waits for that. */
  async stopController(): Promise<void> {
    const pid = (await this.#root(['pgrep', 'slurmctld'])).stdout.toString().trim();
    await this.#root(['sh', '-c', `kill ${pid}; while kill -0 ${pid} 2>&-; do sleep 0.02; done`]);
  }

  /** Starts slurmd on a compute node, also after it has ended. */
  async startNode(host: SshHost): Promise<void> {
    await this.#root(['slurmd', '-f', `${config}/slurm.conf`], host);
  }

  /** Boots a compute node that has been killed. */
  async bootNode(host: SshHost): Promise<void> {
    await host.boot();
    await this.#startMunge(host);
    await this.startNode(host);
  }

  async waitForNodes(): Promise<void> {
    await waitFor({ what: 'all nodes to be idle', timeoutMs: 60_000 }, async () => {
      const { stdout } = await this.#root(['sinfo', '--noheader', '--format=%T %D']);
      return stdout.toString().trim() === `idle ${this.#compute.length}` ? true : undefined;
    });
  }

  /** munged, and the cgroups of slurmd. */
  async #startMunge(host: SshHost): Promise<void> {
    const own = join(this.#hosts[0].directory, 'slurm');
    await this.#root(['install', '-d', '-o', 'munge', munge], host);
    await this.#munge(
      [
        ...['munged', `--key-file=${own}/munge/key`, `--socket=${munge}/munge.socket.2`],
        ...[`--log-file=${own}/munge/${host.name}.log`, `--seed-file=${own}/munge/seed`],
        `--pid-file=${munge}/munged.pid`,
      ],
      host,
    );
    for (const controller of controllers) {
      const at = `${cgroups}/${controller}`;
      await this.#root(['install', '-d', at], host);
      await this.#root(['mount', '-t', 'cgroup', '-o', controller, 'cgroup', at], host);
    }
  }

  async #configure(directory: string, text: string, host = this.#hosts[0]): Promise<void> {
    const files = {
      'slurm.conf': text,
      'cgroup.conf': cgroupConf,
      'gres.conf': gresConf,
      'job_submit.lua': this.#jobSubmit,
    };
    await this.#root(['install', '-d', directory], host);
    for (const [name, input] of Object.entries(files))
      await this.#root(['tee', join(directory, name)], host, input);
  }

  #munge(argv: readonly string[], host = this.#hosts[0]): Promise<ClientResult> {
    return this.#root(['runuser', '-u', 'munge', '--', ...argv], host);
  }

  #root(argv: readonly string[], host = this.#hosts[0], input = ''): Promise<ClientResult> {
    return this.#checked(argv, host.asRoot(argv, { input }));
  }

  async #checked(argv: readonly string[], running: Promise<ClientResult>): Promise<ClientResult> {
    const result = await running;
    if (result.exitCode === 0) return result;
    const [first] = this.#hosts;
    const logs = await first.asRoot([
      ...['find', join(first.directory, 'slurm'), '-name', '*.log'],
      ...['-exec', 'tail', '-n', '20', '{}', '+'],
    ]);
    throw new Error(`${argv.join(' ')}: ${result.stderr}\n${logs.stdout.toString()}`);
  }
}
