import { SshHost, type SshHostOptions } from '../login-node/ssh-host.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { computeNetwork, type ComputeNetwork } from './compute-network.ts';
import { SlurmCluster, slurmPackages } from './slurm-cluster.ts';

/** A login node that runs slurmctld, and compute nodes with networks of their own. They share homes and configuration. */
export class SlurmSite {
  readonly login: SshHost;
  readonly nodes: readonly SshHost[];
  readonly slurm: SlurmCluster;
  readonly #networks: readonly ComputeNetwork[];

  private constructor(
    login: SshHost,
    nodes: readonly SshHost[],
    slurm: SlurmCluster,
    networks: readonly ComputeNetwork[],
  ) {
    this.login = login;
    this.nodes = nodes;
    this.slurm = slurm;
    this.#networks = networks;
  }

  /** @param conf further lines of slurm.conf @param jobSubmit see `SlurmCluster.startBehind` */
  static async start(
    options: SshHostOptions,
    nodeCount = 1,
    conf = '',
    jobSubmit?: string,
  ): Promise<SlurmSite> {
    await ensurePackages(slurmPackages);
    const login = await SshHost.start(options);
    const networks: ComputeNetwork[] = [];
    const nodes: SshHost[] = [];
    for (let index = 1; index <= nodeCount; index += 1) {
      const network = await computeNetwork(networks[0]);
      networks.push(network);
      const place = { name: `node${index}`, address: network.far, network: network.path };
      nodes.push(await SshHost.start({ ...options, ...place, beside: login }));
    }
    const near = networks[0]?.near ?? '';
    const slurm = await SlurmCluster.startBehind(login, near, nodes, conf, jobSubmit);
    return new SlurmSite(login, nodes, slurm, networks);
  }

  /** The network of a compute node. */
  networkOf(node: SshHost): ComputeNetwork {
    const network = this.#networks[this.nodes.indexOf(node)];
    if (network === undefined) throw new Error(`${node.name} is no compute node of this site`);
    return network;
  }

  async stop(): Promise<void> {
    await this.slurm.stop();
    for (const network of this.#networks) await network.remove();
  }
}
