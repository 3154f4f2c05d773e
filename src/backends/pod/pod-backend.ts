import { hostname } from 'node:os';
import type { Backend } from '../backend.ts';
import { usesPods } from './pod-cluster.ts';

/** Pods on Kubernetes clusters. All else is imported when it is needed, as for `podmanBackend`. */
export const podBackend: Backend = {
  ...{ name: 'pod', noun: 'pod', runsHere: false },
  isUsed: usesPods,
  async prepareLogin(site, user) {
    const { grantPodAccess } = await import('./grant-pod-access.ts');
    return grantPodAccess(site, user, 'login');
  },
  async sessionNames(profile, connection, claimedName) {
    const { podName } = await import('./objects/pod-object.ts');
    return { name: podName({ profile, loginHost: hostname(), connection }), claimedName };
  },
  async cleanUp(site, user, connection) {
    const { hasPodGrants } = await import('./pod-grant-file.ts');
    // Looked at now: when the connection counts as closed, a concurrent cleanup may revoke the token.
    const hadGrant = connection === undefined ? undefined : hasPodGrants(site, user.uid);
    return [
      async () => {
        const { cleanUpPods } = await import('./cleanup-pods.ts');
        return cleanUpPods(site, user, hadGrant);
      },
    ];
  },
};
