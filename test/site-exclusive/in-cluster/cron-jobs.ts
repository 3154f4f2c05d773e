import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import type { LiveCluster } from '../../rig/site/live-cluster.ts';
import { waitFor } from '../../rig/wait-for.ts';

const manifests = new URL('../../../etc/kubernetes/', import.meta.url).pathname;

/** How a run ended: what its pod said, and the pod as the cluster had it. */
export interface Run {
  readonly exitCode: number;
  readonly log: string;
  readonly spec: PodSpec;
}

/** As far as the tests look at it. */
export interface PodSpec {
  readonly serviceAccountName: string;
  readonly volumes: readonly { readonly name: string; readonly projected?: object }[];
  readonly containers: readonly {
    readonly image: string;
    readonly securityContext: object;
    readonly volumeMounts: readonly { readonly mountPath: string; readonly readOnly?: boolean }[];
  }[];
}

/** The CronJobs of etc/kubernetes as a site installs them, in a namespace held to Pod Security `restricted`. */
export class CronJobs {
  readonly #cluster: LiveCluster;
  readonly #image: string;
  #runs: string[] = [];

  private constructor(cluster: LiveCluster, image: string) {
    this.#cluster = cluster;
    this.#image = image;
  }

  static async install(cluster: LiveCluster, image: string): Promise<CronJobs> {
    await cluster.kubectl(['apply', '-k', manifests]);
    await cluster.kubectl([
      'label',
      '--overwrite',
      'namespace',
      'ondemand',
      `${enforce}=restricted`,
    ]);
    return new CronJobs(cluster, image);
  }

  /**
   * Applies a component with the image of this site.
   *
   * @param words What a site writes at the end of the command.
   */
  async apply(component: string, words: readonly string[] = []): Promise<void> {
    // What is there of another test would keep its `imagePullPolicy`, that of a tag `latest`.
    await this.#forget();
    await this.#applyComponent(component);
    const container = '/spec/jobTemplate/spec/template/spec/containers/0';
    const more = words.map((value) => ({ op: 'add', path: `${container}/command/-`, value }));
    const name = `berth-${component}`;
    if (more.length > 0) await this.#cluster.patch('cronjob', name, 'ondemand', more, 'json');
  }

  /** Runs a CronJob now, as `kubectl create job --from` does, and waits for its end. */
  async run(cronJob: string): Promise<Run> {
    const job = `${cronJob}-${randomUUID().slice(0, 8)}`;
    this.#runs.push(job);
    const at = ['-n', 'ondemand'];
    await this.#cluster.kubectl(['create', 'job', ...at, job, `--from=cronjob/${cronJob}`]);
    const pod = await waitFor({ what: `the end of ${job}`, timeoutMs: 110_000 }, async () => {
      const selector = `batch.kubernetes.io/job-name=${job}`;
      const out = await this.#cluster.kubectl(['get', 'pods', ...at, '-l', selector, '-o', 'json']);
      const [one] = (JSON.parse(out) as { items: readonly Pod[] }).items;
      if (one === undefined)
        throw new Error(await this.#cluster.kubectl(['describe', 'job', ...at, job]));
      const state = one.status.containerStatuses?.[0]?.state;
      if (state?.terminated === undefined) throw new Error(JSON.stringify(one.status));
      return { ...one, exitCode: state.terminated.exitCode };
    });
    const log = await this.#cluster.kubectl(['logs', ...at, pod.metadata.name]);
    return { exitCode: pod.exitCode, log, spec: pod.spec };
  }

  async remove(): Promise<void> {
    const at = ['-n', 'ondemand', '--ignore-not-found'];
    await this.#cluster.kubectl(['label', 'namespace', 'ondemand', `${enforce}-`]);
    await this.#forget();
    if (this.#runs.length > 0) await this.#cluster.kubectl(['delete', 'job', ...at, ...this.#runs]);
    this.#runs = [];
  }

  async #applyComponent(component: string): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-kustomization-'));
    try {
      const [, newName, newTag] = /^(.+):(.+)$/.exec(this.#image) ?? [];
      const kustomization = {
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        components: [relative(directory, manifests + component)],
        images: [{ name: 'registry.example.org/berth', newName, newTag }],
      };
      await writeFile(join(directory, 'kustomization.yaml'), stringify(kustomization));
      expect(await this.#cluster.kubectl(['kustomize', directory])).toContain(this.#image);
      await this.#cluster.kubectl(['apply', '-k', directory]);
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  async #forget(): Promise<void> {
    const names = ['berth-ldap-sync', 'berth-reaper'];
    await this.#cluster.kubectl([
      ...['delete', 'cronjob', '-n', 'ondemand', '--ignore-not-found', ...names],
    ]);
  }
}

const enforce = 'pod-security.kubernetes.io/enforce';

interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: PodSpec;
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly state: { readonly terminated?: { readonly exitCode: number } };
    }[];
  };
}
