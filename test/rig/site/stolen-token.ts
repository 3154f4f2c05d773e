import { send } from './https.ts';
import type { LiveCluster } from './live-cluster.ts';
import type { Site } from './site.ts';
import { waitFor } from '../wait-for.ts';

/** Sends requests with a token of the hook's ServiceAccount, as an attacker who stole it could. */
export class StolenToken {
  readonly token: string;
  readonly #site: Site;

  private constructor(site: Site, token: string) {
    this.#site = site;
    this.token = token;
  }

  static async take(site: Site, cluster: LiveCluster): Promise<StolenToken> {
    const token = await cluster.kubectl(['create', 'token', 'berth-hook', '-n', 'ondemand']);
    return new StolenToken(site, token.trim());
  }

  /** Sends one request to the API server; with PATCH the body is a merge patch. */
  async request(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly text: string }> {
    return send(`${this.#site.server}${path}`, {
      method,
      ca: this.#site.ca.pem,
      headers: {
        authorization: `Bearer ${this.token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Waits until the guard policy is active, which takes some moments after it is applied. */
  async waitForGuardPolicy({ removed = false } = {}): Promise<void> {
    const what = removed ? 'the guard policy to be gone' : 'the guard policy';
    await waitFor({ what, timeoutMs: 60_000 }, async () => {
      const path = '/api/v1/namespaces/kube-public?dryRun=All';
      const { status } = await this.request('PATCH', path, { metadata: { labels: { x: 'y' } } });
      return status === (removed ? 200 : 422) ? true : undefined;
    });
  }
}

export const rbacPath = '/apis/rbac.authorization.k8s.io/v1';

/** The body of a request that creates a RoleBinding to a ClusterRole. */
export function roleBinding(role: string, subject: object, name = 'x'): object {
  return {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [subject],
  };
}

/** A subject of kind User. */
export function userSubject(name: string): object {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name };
}
