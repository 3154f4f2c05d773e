import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { ClusterTarget } from '../../../src/clusters/access/cluster-target.ts';
import type { PrometheusQuery } from '../../../src/clusters/reap/prometheus-query.ts';
import { reapCluster, type ReapedCluster } from '../../../src/clusters/reap/reap-cluster.ts';
import { type ApiClient, apiClient } from '../../../src/kube/api-client.ts';
import { deleteObject } from '../../../src/kube/delete-object.ts';
import type { LiveObject, LiveCluster } from '../../rig/site/live-cluster.ts';
import type { HookResult } from '../../rig/site/portal.ts';
import type { Site } from '../../rig/site/site.ts';
import { TimerHost } from '../../rig/site/timer-host.ts';
import { waitFor } from '../../rig/wait-for.ts';

/** A host that runs `berth clusters reap --cluster prod` with the rights of etc/kubernetes/reaper. */
export class ReapSite {
  readonly #host: TimerHost;

  private constructor(host: TimerHost) {
    this.#host = host;
  }

  static async make(site: Site): Promise<ReapSite> {
    const account = { account: 'berth-reaper', components: ['reaper'] };
    return new ReapSite(await TimerHost.create(site, { name: 'cluster-reap', ...account }));
  }

  get cluster(): LiveCluster {
    return this.#host.cluster;
  }

  /** `berth clusters reap --cluster prod …`, in this test's namespaces. */
  reap(...args: string[]): Promise<HookResult> {
    return this.#host.berth(...this.#words(), ...args);
  }

  /** The words of `berth` for the same. */
  words(): readonly string[] {
    return [...this.#words(), '--config', this.#host.config];
  }

  #words(): [string, ...string[]] {
    return ['clusters', 'reap', '--cluster', 'prod', '--namespace-selector', this.#host.selector];
  }

  /** A namespace as the hook leaves it. @returns Its name. */
  async namespace(
    user: string,
    { labels, annotations = {} }: { labels?: Record<string, string>; annotations?: object } = {},
  ): Promise<string> {
    const name = `cr-${this.#host.label}-${user}`;
    await this.cluster.create(
      this.#host.namespace(
        name,
        {
          'openondemand.org/owner': user,
          'openondemand.org/last-hook-execution': String(Math.floor(Date.now() / 1000)),
          ...annotations,
        },
        labels,
      ),
    );
    await waitFor({ what: `the account of ${name}`, timeoutMs: 60_000 }, () =>
      this.cluster.get('serviceaccount', 'default', name),
    );
    return name;
  }

  /** Names of what is there, without what is on its way out: no kubelet ends pods here at all times. */
  async names(kind: string, namespace: string): Promise<string[]> {
    const out = await this.cluster.kubectl(['get', kind, '-n', namespace, '-o', 'json']);
    const { items } = JSON.parse(out) as { items: readonly LiveObject[] };
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
    deleteClaims = false,
    prometheus,
  }: {
    readonly after: number;
    readonly dryRun?: boolean;
    readonly deleteClaims?: boolean;
    readonly prometheus?: PrometheusQuery;
  }): Promise<ReapedCluster> {
    return reapCluster(await this.#target(), {
      ...{ dryRun, podSelector: 'no=pod', maxPods: 0, deadline: AbortSignal.timeout(50_000) },
      namespaceSelector: this.#host.selector,
      unused: {
        ...{ after, max: 0, deleteClaims },
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
    const { users } = parse(await readFile(this.#host.kubeconfig, 'utf8')) as {
      users: [{ user: { token: string } }];
    };
    const { token } = users[0].user;
    const { site } = this.#host;
    const server = { url: site.server, ca: site.ca.pem, token };
    return { name: 'prod', reach: () => Promise.resolve(server) };
  }

  async clear(): Promise<void> {
    await this.#forget();
    await this.#host.clear();
  }

  async remove(): Promise<void> {
    await this.#forget();
    await this.#host.remove();
  }

  async #forget(): Promise<void> {
    await this.cluster.kubectl([
      ...['-n', 'ondemand', 'delete', 'lease', 'berth-reaper', '--ignore-not-found'],
    ]);
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
