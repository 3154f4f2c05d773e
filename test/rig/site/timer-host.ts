import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { publicDirectory } from './directories.ts';
import { LiveCluster } from './live-cluster.ts';
import { type HookResult, hookKubeconfig, installDirectory } from './portal.ts';
import type { Site } from './site.ts';

export interface TimerHostOptions {
  /** Prefix of the host's directory. */
  readonly name: string;
  /** A ServiceAccount in the namespace `ondemand`, which the manifests create. */
  readonly account: string;
  /** Directories of etc/kubernetes that are applied in addition to its kustomization. */
  readonly components: readonly string[];
}

const manifests = new URL('../../../etc/kubernetes/', import.meta.url).pathname;

/**
 * A host whose timer runs `berth` against the site's cluster `prod` with its own ServiceAccount. A label that
 * differs between tests keeps `berth` away from the namespaces of other tests.
 */
export class TimerHost {
  readonly site: Site;
  readonly cluster: LiveCluster;
  readonly directory: string;
  readonly #run: string;
  #tests = 0;
  #namespaces: string[] = [];

  private constructor(site: Site, directory: string) {
    this.site = site;
    this.cluster = new LiveCluster(site);
    this.directory = directory;
    this.#run = directory.replace(/^.*-/, '').toLowerCase();
  }

  static async create(site: Site, options: TimerHostOptions): Promise<TimerHost> {
    await mkdir(publicDirectory, { recursive: true });
    const host = new TimerHost(site, await mkdtemp(join(publicDirectory, `${options.name}-`)));
    await host.cluster.kubectl(['apply', '-k', manifests]);
    for (const component of options.components)
      await host.cluster.kubectl(['apply', '-k', join(manifests, component)]);
    const account = { namespace: 'ondemand', name: options.account };
    const kubeconfig = await hookKubeconfig(site, site.server, account);
    await writeFile(host.kubeconfig, kubeconfig, { mode: 0o600 });
    await mkdir(join(host.directory, 'clusters.d'));
    const server = { endpoint: site.server, cert_authority_file: site.ca.file };
    const job = { adapter: 'kubernetes', auth: { type: 'managed' }, server };
    const file = { v2: { metadata: { title: 'prod' }, job } };
    await writeFile(join(host.directory, 'clusters.d/prod.yml'), stringify(file));
    await host.configure();
    return host;
  }

  get kubeconfig(): string {
    return join(this.directory, 'kubeconfig');
  }

  /** Path of berth.yml. */
  get config(): string {
    return join(this.directory, 'berth.yml');
  }

  /** The value of the label `berth.dev/test`; each test has another one. */
  get label(): string {
    return `${this.#run}-${this.#tests}`;
  }

  get selector(): string {
    return `app.kubernetes.io/name=open-ondemand,berth.dev/test=${this.label}`;
  }

  /** Writes berth.yml; `more` overrides the defaults. */
  async configure(more: object = {}): Promise<void> {
    const berth = {
      hook_env: null,
      clusters_dir: join(this.directory, 'clusters.d'),
      state_dir: join(this.directory, 'state'),
      defaults: { admin: { kubeconfig: this.kubeconfig } },
      ...more,
    };
    await writeFile(this.config, stringify(berth));
  }

  /** Runs `berth COMMAND … --config berth.yml`. */
  async berth(command: string, ...args: string[]): Promise<HookResult> {
    const { exitCode, stdout, stderr, shortMessage } = await execa(
      join(installDirectory, 'berth'),
      [command, '--config', this.config, ...args],
      { reject: false, cwd: '/', input: '', timeout: 60_000 },
    );
    if (exitCode === undefined) throw new Error(shortMessage);
    return { exitCode, stdout, stderr };
  }

  /** A Namespace object with this test's label; `clear` deletes the namespace. */
  namespace(
    name: string,
    annotations: Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>> = {},
  ): object {
    this.#namespaces.push(name);
    const own = { 'app.kubernetes.io/name': 'open-ondemand', 'berth.dev/test': this.label };
    return {
      ...{ apiVersion: 'v1', kind: 'Namespace' },
      metadata: { name, labels: { ...own, ...labels }, annotations },
    };
  }

  /** Starts to delete the test's namespaces, without waiting: the next test has another label. */
  async clear(): Promise<void> {
    await this.cluster.deleteNamespaces(this.#namespaces);
    this.#namespaces = [];
    this.#tests += 1;
  }

  async remove(): Promise<void> {
    await this.clear();
    await rm(this.directory, { recursive: true });
  }
}
