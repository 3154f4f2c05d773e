import { waitFor } from '../../rig/wait-for.ts';
import type { LiveCluster } from '../../rig/site/live-cluster.ts';

/** An admission policy of the site that lets nobody change a namespace. */
export class RefusingPolicy {
  readonly #cluster: LiveCluster;
  readonly #namespace: string;

  private constructor(cluster: LiveCluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  static async make(cluster: LiveCluster, namespace: string): Promise<RefusingPolicy> {
    const admission = { apiVersion: 'admissionregistration.k8s.io/v1' };
    const rule = {
      apiGroups: [''],
      apiVersions: ['v1'],
      resources: ['namespaces'],
      operations: ['UPDATE'],
      resourceNames: [namespace],
    };
    const refusal = {
      expression: 'request.resource.resource != "namespaces"',
      message: 'not in the exam week',
      reason: 'Forbidden',
    };
    await cluster.create(
      {
        ...admission,
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name: namespace },
        spec: { matchConstraints: { resourceRules: [rule] }, validations: [refusal] },
      },
      {
        ...admission,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name: namespace },
        spec: { policyName: namespace, validationActions: ['Deny'] },
      },
    );
    const policy = new RefusingPolicy(cluster, namespace);
    await waitFor({ what: 'the policy to hold', timeoutMs: 60_000 }, () => policy.#holds());
    return policy;
  }

  async remove(): Promise<void> {
    for (const kind of ['validatingadmissionpolicybinding', 'validatingadmissionpolicy'])
      await this.#cluster.kubectl(['delete', kind, this.#namespace, '--ignore-not-found']);
    await waitFor({ what: 'the policy to end', timeoutMs: 60_000 }, async () =>
      (await this.#holds()) === undefined ? true : undefined,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  /** Undefined if it does not. */
  async #holds(): Promise<string | undefined> {
    const attempt = ['annotate', 'namespace', this.#namespace, 'berth.dev/test=1'];
    try {
      await this.#cluster.kubectl([...attempt, '--overwrite', '--dry-run=server']);
      return undefined;
    } catch (refusal) {
      return String(refusal);
    }
  }
}
