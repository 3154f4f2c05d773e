import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { publicFolder } from './folders.ts';
import { LiveCluster } from './live-cluster.ts';
import { type HookResult, hookKubeconfig, installed } from './portal.ts';
import type { Site } from './site.ts';

export interface TimerHostOptions {
  /** Of its folder. */
  readonly name: string;
  /** In the namespace `ondemand`; the manifests make it. */
  readonly account: string;
  /** Of etc/kubernetes, beside what every site applies. */
  readonly manifests: readonly string[];
}

const manifests = new URL('../../../etc/kubernetes/', import.meta.url).pathname;

/**
 * A host whose timer runs `berth` on the site's cluster `prod` with an account of its own, in namespaces
 * that carry a label of one test alone: those of other tests are no business of it.
 */
export class TimerHost {
  readonly site: Site;
  readonly cluster: LiveCluster;
  readonly folder: string;
  readonly #run: string;
  #tests = 0;
  #namespaces: string[] = [];

  private constructor(site: Site, folder: string) {
    this.site = site;
    this.cluster = new LiveCluster(site);
    this.folder = folder;
    this.#run = folder.replace(/^.*-/, '').toLowerCase();
  }

  static async make(site: Site, options: TimerHostOptions): Promise<TimerHost> {
    await mkdir(publicFolder, { recursive: true });
    const host = new TimerHost(site, await mkdtemp(join(publicFolder, `${options.name}-`)));
    await host.cluster.kubectl(['apply', '-k', manifests]);
    for (const file of options.manifests)
      await host.cluster.kubectl(['apply', '-f', join(manifests, file)]);
    const account = { namespace: 'ondemand', name: options.account };
    const kubeconfig = await hookKubeconfig(site, site.server, account);
    await writeFile(host.kubeconfig, kubeconfig, { mode: 0o600 });
    await mkdir(join(host.folder, 'clusters.d'));
    const server = { endpoint: site.server, cert_authority_file: site.ca.file };
    const job = { adapter: 'kubernetes', auth: { type: 'managed' }, server };
    const file = { v2: { metadata: { title: 'prod' }, job } };
    await writeFile(join(host.folder, 'clusters.d/prod.yml'), stringify(file));
    await host.configure();
    return host;
  }

  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  /** Path of berth.yml. */
  get config(): string {
    return join(this.folder, 'berth.yml');
  }

  /** The value of the label, other for each test. */
  get label(): string {
    return `${this.#run}-${this.#tests}`;
  }

  get selector(): string {
    return `app.kubernetes.io/name=open-ondemand,berth.dev/test=${this.label}`;
  }

  /** Writes berth.yml: what the test says over what every test wants. */
  async configure(more: object = {}): Promise<void> {
    const berth = {
      hook_env: null,
      clusters_dir: join(this.folder, 'clusters.d'),
      state_dir: join(this.folder, 'state'),
      defaults: { admin: { kubeconfig: this.kubeconfig } },
      ...more,
    };
    await writeFile(this.config, stringify(berth));
  }

  /** `berth COMMAND … --config berth.yml`. */
  async berth(command: string, ...args: string[]): Promise<HookResult> {
    const { exitCode, stdout, stderr, shortMessage } = await execa(
      join(installed, 'berth'),
      [command, '--config', this.config, ...args],
      { reject: false, cwd: '/', input: '', timeout: 60_000 },
    );
    if (exitCode === undefined) throw new Error(shortMessage);
    return { exitCode, stdout, stderr };
  }

  /** A Namespace of this test as an object, which goes with the test. */
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

  /** Ends what a test made; the next one has a label of its own, and waits for nothing. */
  async clear(): Promise<void> {
    await this.cluster.deleteNamespaces(this.#namespaces);
    this.#namespaces = [];
    this.#tests += 1;
  }

  async remove(): Promise<void> {
    await this.clear();
    await rm(this.folder, { recursive: true });
  }
}
