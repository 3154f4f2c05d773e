import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import type { AdmissionParameters } from '../../../src/config/schema/admission-parameters.ts';
import type { AdmissionSettings } from '../../../src/kube/admission/admission-settings.ts';
import { kubernetesPolicies } from '../../../src/kube/admission/kubernetes-policies.ts';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { send } from '../site/https.ts';
import type { KeyPair } from '../site/certificates.ts';
import { LiveCluster } from '../site/live-cluster.ts';
import type { KubectlResult, Site } from '../site/site.ts';
import { waitFor } from '../wait-for.ts';
import { hasMutatingPolicies } from '../site/kubernetes/versions.ts';
import { noSuchNode, testUser, siteParameters } from './test-user.ts';
import { type AdmissionResponse, verdict } from './admission-response.ts';
import { withDefaultsFilledIn } from './explicit-defaults.ts';
import { fullAccess, namespace, serviceAccount } from './user-namespace.ts';

/**
 * The admission policies on the site's API server, with their own names and namespace label, so that they do
 * not affect other tests.
 */
export class AdmissionSite {
  readonly settings: AdmissionSettings;
  readonly namespace: string;
  readonly cluster: LiveCluster;
  readonly #site: Site;
  readonly #userName: string;
  readonly #pair: KeyPair;
  readonly #user: { readonly cert: string; readonly key: string };
  readonly #policies: readonly Manifest[];

  private constructor(
    site: Site,
    settings: AdmissionSettings,
    namespace: string,
    user: { readonly cert: string; readonly key: string },
    pair: KeyPair,
  ) {
    this.#site = site;
    this.settings = settings;
    this.namespace = namespace;
    this.#userName = `${settings.within ?? ''}-user`;
    this.cluster = new LiveCluster(site);
    this.#user = user;
    this.#pair = pair;
    this.#policies = kubernetesPolicies(settings);
  }

  /**
   * Installs all policies, and a namespace in which a user has every right that RBAC can give.
   *
   * @param parameters what the policies allow
   * @param nothingFilledIn true for a cluster without MutatingAdmissionPolicy; default: as the site's version
   */
  static async install(
    site: Site,
    parameters: AdmissionParameters = siteParameters,
    nothingFilledIn = !hasMutatingPolicies(site.record.kubernetesMinor),
  ): Promise<AdmissionSite> {
    const run = `adm-${randomUUID().slice(0, 8)}`;
    const settings: AdmissionSettings = {
      prefix: `${run}-`,
      label: { key: 'berth.dev/admission-test', value: run },
      parameters: { ...parameters, stampers: [`${run}-site:berth-hook`] },
      within: run,
      nothingFilledIn,
    };
    const pair = await site.certificates.client(`${run}-user`);
    const user = {
      cert: await readFile(pair.cert, 'utf8'),
      key: await readFile(pair.key, 'utf8'),
    };
    const own = new AdmissionSite(site, settings, `${run}-home`, user, pair);
    try {
      await own.#make();
    } catch (error) {
      await own.remove();
      throw error;
    }
    return own;
  }

  async #make(): Promise<void> {
    const { label } = this.settings;
    await this.cluster.create(
      namespace(this.namespace, { [label.key]: label.value }, testUser.annotations),
    );
    await this.cluster.create(
      ...this.#policies,
      ...['pipeline', 'berth-session', 'berth-user'].map((name) =>
        serviceAccount(this.namespace, name),
      ),
      ...fullAccess(this.namespace, this.#userName),
    );
    await this.cluster.waitForControllers(this.namespace);
    await this.#waitUntilActive();
  }

  /**
   * Waits until the policies are active, which takes some moments. Validating and mutating policies become
   * active separately, so one request tests each.
   */
  async #waitUntilActive(): Promise<void> {
    const home = `/api/v1/namespaces/${this.namespace}?dryRun=All`;
    const stolen = { metadata: { annotations: { 'openondemand.org/uid': '1' } } };
    await waitFor({ what: 'the admission policies', timeoutMs: 60_000 }, async () => {
      if (!(await this.#podPoliciesActive())) return undefined;
      return (await this.request('PATCH', home, stolen)).status === 403 ? true : undefined;
    });
  }

  /** Whether a minimal pod gets defaults, or, without mutating policies, is denied. */
  async #podPoliciesActive(): Promise<boolean> {
    const { status, body } = await this.createVerbatim(testUser.pod());
    if (this.settings.nothingFilledIn === true) return status === 403;
    return (
      (body as Partial<Manifest>).metadata?.annotations?.['pod.kubernetes.io/lifetime'] !==
      undefined
    );
  }

  /**
   * Sends a request as the user. Without mutating policies, the fields that they would set are added to the
   * pods in the body, so that a pod breaks only the rule that the test is about.
   */
  async request(
    method: string,
    path: string,
    body?: object,
    contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  ): Promise<AdmissionResponse> {
    const answer = await send(`${this.#site.server}${path}`, {
      method,
      ca: this.#site.ca.pem,
      client: this.#user,
      headers: { 'content-type': contentType },
      ...(body === undefined ? {} : { body: JSON.stringify(this.#withDefaults(body)) }),
    });
    return verdict(answer);
  }

  #withDefaults(body: object): object {
    return this.settings.nothingFilledIn === true ? withDefaultsFilledIn(body) : body;
  }

  /** Creates an object as the user, in a dry run, without adding defaults to it. */
  async createVerbatim(object: Manifest): Promise<AdmissionResponse> {
    const url = `${this.#site.server}${collection(object, this.namespace)}?dryRun=All`;
    const answer = await send(url, {
      ...{ method: 'POST', ca: this.#site.ca.pem, client: this.#user },
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(object),
    });
    return verdict(answer);
  }

  /** Creates an object in the user's namespace as the user; a dry run unless `keep`. */
  create(object: Manifest, { keep = false } = {}): Promise<AdmissionResponse> {
    return this.request(
      'POST',
      `${collection(object, this.namespace)}${keep ? '' : '?dryRun=All'}`,
      object,
    );
  }

  /** Runs kubectl in the user's namespace, as the user or with a token. */
  kubectl(
    args: readonly string[],
    { token, input }: { readonly token?: string; readonly input?: string } = {},
  ): Promise<KubectlResult> {
    const { cert, key } = this.#pair;
    const user =
      token === undefined
        ? [`--client-certificate=${cert}`, `--client-key=${key}`]
        : [`--token=${token}`];
    return this.#site.kubectl(
      [
        ...[`--server=${this.#site.server}`, `--certificate-authority=${this.#site.ca.file}`],
        ...[...user, `--namespace=${this.namespace}`],
        ...args,
      ],
      { kubeconfig: '/dev/null', ...(input === undefined ? {} : { input }) },
    );
  }

  /** Creates a pod while the namespace lacks the policies' label. @returns its URL path */
  async createPreexistingPod(
    name: string,
    securityContext: object,
    more: object = {},
  ): Promise<string> {
    const { key, value } = this.settings.label;
    const pod = testUser.pod(name);
    const { namespace } = this;
    await this.cluster.patch('namespace', namespace, '', { metadata: { labels: { [key]: null } } });
    try {
      await waitFor(
        { what: 'a pod in the namespace without the label', timeoutMs: 60_000 },
        async () => {
          const spec = { ...pod.spec, nodeSelector: noSuchNode, securityContext, ...more };
          const made = await this.create({ ...pod, spec }, { keep: true });
          return made.status === 201 ? true : undefined;
        },
      );
    } finally {
      await this.cluster.patch('namespace', namespace, '', {
        metadata: { labels: { [key]: value } },
      });
    }
    await this.#waitUntilActive();
    return `/api/v1/namespaces/${namespace}/pods/${name}`;
  }

  /** Runs `work` while the namespace has the label but no annotations about its user, as OSC's hook creates it. */
  async withoutIdentity(work: () => Promise<void>): Promise<void> {
    const annotate = (annotations: object): Promise<void> =>
      this.cluster.patch('namespace', this.namespace, '', { metadata: { annotations } });
    await annotate(Object.fromEntries(Object.keys(testUser.annotations).map((key) => [key, null])));
    try {
      // Admission reads namespaces from a cache of the API server.
      await waitFor({ what: 'the change', timeoutMs: 60_000 }, async () =>
        (await this.create(testUser.pod())).status === 403 ? true : undefined,
      );
      await work();
    } finally {
      await annotate(testUser.annotations);
    }
  }

  /** Creates a namespace of the same user to which no policy applies. @returns its name */
  async createUnguardedNamespace(): Promise<string> {
    const name = `${this.settings.within ?? ''}-free`;
    await this.cluster.create(namespace(name), ...fullAccess(name, this.#userName));
    await this.cluster.waitForControllers(name);
    return name;
  }

  /** A function that creates pods as the user, in a dry run, over one persistent connection. */
  podCreator(): (namespace: string, pod: Manifest) => Promise<void> {
    const agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      ca: this.#site.ca.pem,
      ...this.#user,
    });
    return async (place, pod) => {
      const request = { method: 'POST', ca: this.#site.ca.pem, agent, body: JSON.stringify(pod) };
      const url = `${this.#site.server}/api/v1/namespaces/${place}/pods?dryRun=All`;
      const { status, text } = await send(url, {
        ...request,
        headers: { 'content-type': 'application/json' },
      });
      if (status !== 201) throw new Error(text);
    };
  }

  /** Gives the user the right to create namespaces, as some sites do. */
  async allowNamespaceCreation(): Promise<void> {
    await this.grantClusterWide('namespaces', this.#userName, {
      resources: ['namespaces'],
      verbs: ['create'],
    });
  }

  /**
   * Gives rights to a component of the cluster, such as a network plugin or a load balancer controller, which
   * writes statuses in every namespace. @returns its user name
   */
  async createClusterComponent(): Promise<string> {
    const name = `${this.settings.prefix}component`;
    await this.grantClusterWide('component', name, {
      resources: ['pods', 'pods/status', 'services', 'services/status'],
      verbs: ['get', 'patch'],
    });
    return name;
  }

  /** @param right ends the name of the role: `namespaces`, `component` or `hook` */
  async grantClusterWide(right: string, user: string, rule: object): Promise<void> {
    const name = this.settings.prefix + right;
    const rbac = 'rbac.authorization.k8s.io';
    await this.cluster.create(
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRole',
        metadata: { name },
        rules: [{ apiGroups: [''], ...rule }],
      },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
        subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
      },
    );
  }

  /** Runs `work` while a policy and its bindings are deleted. @param policy its name without the prefix */
  async withoutPolicy(policy: string, work: () => Promise<void>): Promise<void> {
    const objects = this.#policies.filter(
      ({ metadata }) => metadata.name === this.settings.prefix + policy,
    );
    if (objects.length === 0) throw new Error(`there is no policy ${policy}`);
    const kinds = objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
    await this.cluster.kubectl(['delete', ...kinds, '--wait=true']);
    try {
      await work();
    } finally {
      await this.cluster.create(...objects);
    }
  }

  async remove(): Promise<void> {
    const rights = ['namespaces', 'component', 'hook']
      .map((right) => this.settings.prefix + right)
      .flatMap((name) => [`clusterrole/${name}`, `clusterrolebinding/${name}`]);
    const names = this.#policies.map(
      ({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`,
    );
    await this.cluster.kubectl(['delete', '--ignore-not-found', ...rights, ...names]);
    await this.cluster.deleteNamespaces([this.namespace, `${this.settings.within ?? ''}-free`]);
  }
}

function collection({ apiVersion, kind }: Manifest, namespace: string): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}/namespaces/${namespace}/${kind.toLowerCase()}s`;
}
