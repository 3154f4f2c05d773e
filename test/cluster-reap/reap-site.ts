import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse, stringify } from 'yaml';
import type { ClusterTarget } from '../../src/flows/cluster-target.ts';
import type { PrometheusQuestion } from '../../src/flows/prometheus-activity.ts';
import { reapCluster, type ReapedCluster } from '../../src/flows/reap-cluster.ts';
import { type ApiClient, apiClient } from '../../src/reconcile/api-client.ts';
import { deleteObject } from '../../src/reconcile/delete-object.ts';
import { publicFolder } from '../site/folders.ts';
import { LiveCluster, type Live } from '../site/live-cluster.ts';
import { hookKubeconfig, installed } from '../site/portal.ts';
import type { Site } from '../site/site.ts';
import { waitFor } from '../site/wait.ts';

export interface ReapResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const root = new URL('../../', import.meta.url).pathname;

/**
 * A host that runs `berth reap --cluster prod` with the rights of etc/kubernetes/reaper.yaml, in
 * namespaces that carry a label of one test alone.
 */
export class ReapSite {
  readonly cluster: LiveCluster;
  readonly folder: string;
  readonly #site: Site;
  readonly #run: string;
  #tests = 0;
  #namespaces: string[] = [];

  private constructor(site: Site, folder: string) {
    this.#site = site;
    this.cluster = new LiveCluster(site);
    this.folder = folder;
    this.#run = folder.replace(/^.*-/, '').toLowerCase();
  }

  static async make(site: Site): Promise<ReapSite> {
    await mkdir(publicFolder, { recursive: true });
    const reap = new ReapSite(site, await mkdtemp(join(publicFolder, 'cluster-reap-')));
    await reap.cluster.kubectl(['apply', '-k', join(root, 'etc/kubernetes')]);
    await reap.cluster.kubectl(['apply', '-f', join(root, 'etc/kubernetes/reaper.yaml')]);
    await mkdir(join(reap.folder, 'clusters.d'));
    const account = { namespace: 'ondemand', name: 'berth-reaper' };
    const kubeconfig = await hookKubeconfig(site, site.server, account);
    await writeFile(join(reap.folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    const server = { endpoint: site.server, cert_authority_file: site.ca.file };
    const job = { adapter: 'kubernetes', auth: { type: 'managed' }, server };
    const file = { v2: { metadata: { title: 'prod' }, job } };
    await writeFile(join(reap.folder, 'clusters.d/prod.yml'), stringify(file));
    const berth = {
      hook_env: null,
      clusters_dir: join(reap.folder, 'clusters.d'),
      state_dir: join(reap.folder, 'state'),
      defaults: { admin: { kubeconfig: join(reap.folder, 'kubeconfig') } },
    };
    await writeFile(join(reap.folder, 'berth.yml'), stringify(berth));
    return reap;
  }

  get label(): string {
    return `${this.#run}-${this.#tests}`;
  }

  /** `berth reap --cluster prod …`, in this test's namespaces. */
  async reap(...args: string[]): Promise<ReapResult> {
    const words = [
      ...['reap', '--cluster', 'prod', '--config', join(this.folder, 'berth.yml')],
      ...['--namespace-selector', this.#selector],
      ...args,
    ];
    const { exitCode, stdout, stderr, shortMessage } = await execa(
      join(installed, 'berth'),
      words,
      { reject: false, cwd: '/', input: '', timeout: 60_000 },
    );
    if (exitCode === undefined) throw new Error(shortMessage);
    return { exitCode, stdout, stderr };
  }

  /** A namespace as the hook leaves it. @returns Its name. */
  async namespace(
    user: string,
    { labels = {}, annotations = {} }: { labels?: object; annotations?: object } = {},
  ): Promise<string> {
    const name = `cr-${this.label}-${user}`;
    this.#namespaces.push(name);
    await this.cluster.create({
      ...{ apiVersion: 'v1', kind: 'Namespace' },
      metadata: {
        name,
        labels: {
          ...{ 'app.kubernetes.io/name': 'open-ondemand', 'berth.dev/test': this.label },
          ...labels,
        },
        annotations: {
          'openondemand.org/owner': user,
          'openondemand.org/last-hook-execution': String(Math.floor(Date.now() / 1000)),
          ...annotations,
        },
      },
    });
    await waitFor({ what: `the account of ${name}`, timeoutMs: 20_000 }, () =>
      this.cluster.get('serviceaccount', 'default', name),
    );
    return name;
  }

  /** Names of what is there, without what is on its way out: no kubelet ends pods here at all times. */
  async names(kind: string, namespace: string): Promise<string[]> {
    const out = await this.cluster.kubectl(['get', kind, '-n', namespace, '-o', 'json']);
    const { items } = JSON.parse(out) as { items: readonly Live[] };
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== 'kube-root-ca.crt')
      .sort();
  }

  /**
   * The flow behind `--unused-after`, which takes an hour at least: nobody can make a namespace that is
   * an hour old.
   */
  async reapUnused({
    after,
    dryRun = false,
    prometheus,
  }: {
    readonly after: number;
    readonly dryRun?: boolean;
    readonly prometheus?: PrometheusQuestion;
  }): Promise<ReapedCluster> {
    return reapCluster(await this.#target(), {
      ...{ dryRun, podSelector: 'no=pod', maxPods: 0, deadline: AbortSignal.timeout(50_000) },
      namespaceSelector: this.#selector,
      unused: {
        ...{ after, max: 0, deleteClaims: false },
        ...(prometheus === undefined ? {} : { prometheus }),
      },
    });
  }

  /** The API server, as `berth reap` reaches it and with its rights. */
  async withClient<T>(use: (client: ApiClient) => Promise<T>): Promise<T> {
    const deadline = AbortSignal.timeout(20_000);
    const client = apiClient(await (await this.#target()).reach(deadline), deadline);
    try {
      return await use(client);
    } finally {
      client.close();
    }
  }

  /** The deletion of a namespace as it was at some time. */
  deleteAsSeen(
    name: string,
    { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
  ): Promise<boolean> {
    const path = `/api/v1/namespaces/${name}`;
    const preconditions = { uid, resourceVersion };
    return this.withClient((client) => deleteObject(client, { what: name, path, preconditions }));
  }

  /** The account's own rights, as everywhere. */
  async #target(): Promise<ClusterTarget> {
    const { users } = parse(await readFile(join(this.folder, 'kubeconfig'), 'utf8')) as {
      users: [{ user: { token: string } }];
    };
    const { token } = users[0].user;
    const server = { url: this.#site.server, ca: this.#site.ca.pem, token };
    return { name: 'prod', reach: () => Promise.resolve(server) };
  }

  get #selector(): string {
    return `app.kubernetes.io/name=open-ondemand,berth.dev/test=${this.label}`;
  }

  async clear(): Promise<void> {
    await this.cluster.kubectl([
      ...['-n', 'ondemand', 'delete', 'lease', 'berth-reaper', '--ignore-not-found'],
    ]);
    await this.cluster.deleteNamespaces(this.#namespaces);
    this.#namespaces = [];
    this.#tests += 1;
  }

  async remove(): Promise<void> {
    await this.clear();
    await rm(this.folder, { recursive: true });
  }
}

/** A pod as OnDemand's adapter makes it; it is bound to no node, so that none has to run it. */
export function jobPod(namespace: string, job: string, more: { lifetime?: string } = {}): object {
  const { lifetime = '1s' } = more;
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ namespace, name: job },
      labels: { job, 'app.kubernetes.io/managed-by': 'open-ondemand' },
      annotations: { 'pod.kubernetes.io/lifetime': lifetime },
    },
    spec: {
      nodeSelector: { 'berth.dev/no-such': 'node' },
      containers: [{ name: 'job', image: 'registry.example.org/job' }],
    },
  };
}

/** What the adapter makes beside a pod. */
export function jobObjects(namespace: string, job: string): object[] {
  const metadata = (name: string): object => ({ namespace, name, labels: { job } });
  const core = (kind: string, name: string, more: object): object => ({
    ...{ apiVersion: 'v1', kind, metadata: metadata(name) },
    ...more,
  });
  return [
    core('Service', `${job}-service`, { spec: { ports: [{ port: 80 }], selector: { job } } }),
    core('ConfigMap', `${job}-configmap`, { data: { script: 'x' } }),
    core('Secret', `${job}-secret`, { stringData: { password: 'x' } }),
  ];
}
