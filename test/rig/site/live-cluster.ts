import type { KubectlResult, Site } from './site.ts';
import { waitFor } from '../wait-for.ts';

/** A Kubernetes object as `kubectl get -o json` prints it. */
export interface LiveObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly [field: string]: unknown;
}

/** Kinds of objects that the hook creates, or must not change, in a namespace. */
const kinds =
  'networkpolicies,rolebindings,roles,secrets,serviceaccounts,resourcequotas,limitranges,configmaps';

/** The test site's cluster, accessed with kubectl as its admin. */
export class LiveCluster {
  readonly #site: Site;

  constructor(site: Site) {
    this.#site = site;
  }

  /** Runs kubectl. @returns its stdout @throws Error if it fails */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const result = await this.#site.kubectl(args, input === undefined ? {} : { input });
    return succeeded(args, result).stdout;
  }

  /** Returns one object, or undefined if it does not exist. */
  async get(kind: string, name: string, namespace = 'default'): Promise<LiveObject | undefined> {
    const out = await this.kubectl([
      ...['get', kind, name, '-n', namespace, '--ignore-not-found', '-o', 'json'],
    ]);
    return out === '' ? undefined : (JSON.parse(out) as LiveObject);
  }

  /** The namespace and all objects of the hook's kinds in it, with every field, in a stable order. */
  async dump(namespace: string): Promise<readonly LiveObject[]> {
    const [own, members] = await Promise.all([
      this.get('namespace', namespace),
      this.kubectl(['get', kinds, '-n', namespace, '-o', 'json', '--show-managed-fields']),
    ]);
    const { items } = JSON.parse(members) as { items: readonly LiveObject[] };
    return [...(own === undefined ? [] : [own]), ...items];
  }

  /** Applies CustomResourceDefinitions and waits for them. @param files as kubectl's arguments */
  async applyCrds(files: readonly string[]): Promise<void> {
    await this.kubectl(['apply', '--server-side', ...files]);
    const established = ['wait', '--for=condition=Established', ...files, '--timeout=30s'];
    // kubectl wait fails at an object that has no conditions yet.
    await waitFor({ what: 'the CRDs', timeoutMs: 60_000 }, () => this.kubectl(established));
  }

  /** Deletes CustomResourceDefinitions, and waits until nothing of them is left. @param files as kubectl's arguments */
  async deleteCrds(files: readonly string[]): Promise<void> {
    await this.kubectl(['delete', ...files, '--ignore-not-found', '--wait=false']);
    await waitFor({ what: 'the end of the CRDs', timeoutMs: 180_000 }, async () => {
      const left = await this.kubectl(['get', ...files, '--ignore-not-found', '-o', 'json']);
      if (left === '') return true;
      throw new Error(left);
    });
  }

  /** Creates objects. */
  async create(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.kubectl(['create', '-f', '-'], JSON.stringify(list));
  }

  /** @param how `merge` (RFC 7386) or `json` (RFC 6902) */
  async patch(
    kind: string,
    name: string,
    namespace: string,
    patch: object,
    how: 'merge' | 'json' = 'merge',
  ): Promise<void> {
    await this.kubectl([
      ...['patch', kind, name, '-n', namespace, `--type=${how}`, '-p', JSON.stringify(patch)],
    ]);
  }

  async delete(kind: string, name: string, namespace: string): Promise<void> {
    await this.kubectl(['delete', kind, name, '-n', namespace, '--wait=true']);
  }

  /** Starts to delete namespaces and does not wait; missing ones are ignored. */
  async deleteNamespaces(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.kubectl(['delete', 'namespace', '--ignore-not-found', '--wait=false', ...names]);
  }

  /** Deletes namespaces and waits until they are gone; missing ones are ignored. */
  async deleteNamespacesAndWait(names: readonly string[]): Promise<void> {
    await this.kubectl(['delete', 'namespace', ...names, '--ignore-not-found', '--timeout=50s']);
  }

  /** Waits until the controllers have created the default ServiceAccount and ConfigMap of each namespace. */
  async waitForControllers(...namespaces: readonly string[]): Promise<void> {
    await waitFor(
      { what: `the controllers in ${namespaces.join()}`, timeoutMs: 60_000 },
      async () => {
        const [accounts, configMaps] = await Promise.all([
          this.inAllNamespaces('serviceaccounts', 'default'),
          this.inAllNamespaces('configmaps', 'kube-root-ca.crt'),
        ]);
        const everywhere = namespaces.every((name) => accounts.has(name) && configMaps.has(name));
        return everywhere ? true : undefined;
      },
    );
  }

  /** The objects of this name, by their namespace. */
  async inAllNamespaces(kinds: string, name: string): Promise<ReadonlyMap<string, LiveObject>> {
    const selector = `--field-selector=metadata.name=${name}`;
    const { items } = JSON.parse(
      await this.kubectl(['get', kinds, '--all-namespaces', selector, '-o', 'json']),
    ) as { items: readonly LiveObject[] };
    return new Map(items.map((live) => [live.metadata.namespace ?? '', live]));
  }
}

function succeeded(args: readonly string[], result: KubectlResult): KubectlResult {
  if (result.exitCode === 0) return result;
  throw new Error(`kubectl ${args.join(' ')}: ${result.stderr}`);
}
