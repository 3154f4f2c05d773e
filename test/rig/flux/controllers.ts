import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon } from '../addresses/daemon.ts';
import { LiveCluster } from '../site/live-cluster.ts';
import { freePorts } from '../free-ports.ts';
import type { Site } from '../site/site.ts';
import { waitFor } from '../wait-for.ts';
import type { Controller } from './build.ts';

/** The group of each controller's objects, for `kubectl get`. */
export const kinds = {
  repository: 'gitrepository.source.toolkit.fluxcd.io',
  kustomization: 'kustomization.kustomize.toolkit.fluxcd.io',
  release: 'helmrelease.helm.toolkit.fluxcd.io',
} as const;
/** Which helm-controller makes, and leaves if the release is suspended. */
const chart = 'helmchart.source.toolkit.fluxcd.io';

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly observedGeneration?: number;
}

/** Flux's controllers with the rights of the cluster's administrator, and the namespace `flux-system`. */
export class FluxControllers {
  readonly #cluster: LiveCluster;
  readonly #controllers: readonly Controller[];
  #daemons: Daemon[] = [];

  private constructor(cluster: LiveCluster, controllers: readonly Controller[]) {
    this.#cluster = cluster;
    this.#controllers = controllers;
  }

  /** @param directory for the controllers' logs and artifacts; exists */
  static async start(
    site: Site,
    directory: string,
    controllers: readonly Controller[],
  ): Promise<FluxControllers> {
    const started = new FluxControllers(new LiveCluster(site), controllers);
    await started.#start(site, directory);
    return started;
  }

  async #start(site: Site, directory: string): Promise<void> {
    for (const { crds } of this.#controllers) await this.#cluster.applyCrds(['-f', crds]);
    await this.#cluster.deleteNamespacesAndWait(['flux-system']);
    await this.#cluster.kubectl(['create', 'namespace', 'flux-system']);
    await mkdir(join(directory, 'artifacts'));
    const { storage } = await freePorts(['storage']);
    const artifacts = [
      `--storage-path=${join(directory, 'artifacts')}`,
      ...[`--storage-addr=127.0.0.1:${storage}`, `--storage-adv-addr=127.0.0.1:${storage}`],
    ];
    const enter = [
      ...['env', `KUBECONFIG=${site.adminKubeconfig}`, 'RUNTIME_NAMESPACE=flux-system'],
      `HOME=${directory}`,
    ];
    for (const { name, program } of this.#controllers) {
      const own = name === 'source-controller' ? artifacts : [];
      const argv = [program, '--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0', ...own];
      this.#daemons.push(await Daemon.start(enter, argv, join(directory, `${name}.log`)));
    }
  }

  /** Waits until the newest generation of an object of Flux is ready with this status. */
  async ready(kind: string, name: string, reached: (status: object) => boolean): Promise<void> {
    const alive = async (): Promise<void> => {
      for (const daemon of this.#daemons) await daemon.assertRunning();
    };
    await waitFor({ what: `${kind} ${name} of Flux`, timeoutMs: 90_000, alive }, async () => {
      const one = await this.#cluster.get(kind, name, 'flux-system');
      const status = (one?.status ?? {}) as Status;
      if (status.observedGeneration !== one?.metadata.generation) return undefined;
      const ready = status.conditions?.some(
        (condition) => condition.type === 'Ready' && condition.status === 'True',
      );
      if (ready === true && reached(status)) return true;
      throw new Error(JSON.stringify(one?.status));
    });
  }

  /** As `flux reconcile` does: asks now for what the object's interval brings in minutes. */
  async reconcile(kind: string, name: string): Promise<void> {
    const now = { 'reconcile.fluxcd.io/requestedAt': new Date().toISOString() };
    await this.#cluster.patch(kind, name, 'flux-system', { metadata: { annotations: now } });
  }

  /** Deletes Flux and its objects; what these installed stays. */
  async stop(): Promise<void> {
    const all = ['-n', 'flux-system', '--all'];
    for (const kind of this.#kinds()) {
      // Flux would uninstall a release, and with it the accounts that other tests use.
      const suspend = ['--type=merge', '-p', '{"spec":{"suspend":true}}'];
      const names = await this.#cluster.kubectl(['get', kind, '-n', 'flux-system', '-o', 'name']);
      for (const name of names.split('\n').filter((one) => one !== ''))
        await this.#cluster.kubectl(['patch', name, '-n', 'flux-system', ...suspend]);
      await this.#cluster.kubectl(['delete', kind, ...all, '--timeout=60s']);
    }
    for (const daemon of this.#daemons) await daemon.stop();
    for (const { crds } of this.#controllers) await this.#cluster.deleteCrds(['-f', crds]);
    await this.#cluster.deleteNamespaces(['flux-system']);
  }

  /** Those of the controllers that run. What applies the others' objects comes first. */
  #kinds(): string[] {
    const running = new Set(this.#controllers.map(({ name }) => name));
    return [
      ...(running.has('kustomize-controller') ? [kinds.kustomization] : []),
      ...(running.has('helm-controller') ? [kinds.release, chart] : []),
      kinds.repository,
    ];
  }
}
