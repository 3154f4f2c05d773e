import { hostname } from 'node:os';
import {
  type Backend as BackendName,
  namesBackend,
  type SshSettings,
} from '../../config/schema/profile/profile.ts';
import type { Backend } from './backend.ts';

/** Pods on Kubernetes clusters. All else is imported when it is needed, as for `podmanBackend`. */
const podBackend: Backend = {
  name: 'pod',
  noun: 'pod',
  runsHere: false,
  isUsed: (settings) => namesBackend(settings, 'pod'),
  async prepareLogin(site, user) {
    const { withSessionProfiles } = await import('../../config/load/session-profiles.ts');
    const settings = withSessionProfiles(site.settings);
    if (!namesBackend(settings, 'pod')) return [];
    const { grantPodAccess } = await import('./pod/grant-pod-access.ts');
    return grantPodAccess({ ...site, settings }, user, 'login');
  },
  async sessionNames(profile, connection, claimedName) {
    const { podName } = await import('./pod/objects/pod-object.ts');
    return { name: podName({ profile, loginHost: hostname(), connection }), claimedName };
  },
  async cleanUp(site, user, connection) {
    const { hasPodGrants } = await import('./pod/pod-grant-file.ts');
    // Looked at now: when the connection counts as closed, a concurrent cleanup may revoke the token.
    const hadGrant = connection === undefined ? undefined : hasPodGrants(site, user.uid);
    return [
      async () => {
        const { cleanUpPods } = await import('./pod/cleanup-pods.ts');
        return cleanUpPods(site, user, hadGrant);
      },
    ];
  },
};

/** Containers of rootless podman on the login node. All else is imported when it is needed: PAM's hook uses little of it. */
const podmanBackend: Backend = {
  name: 'podman',
  noun: 'container',
  runsHere: true,
  // Containers of profiles that were removed have to be cleaned up too.
  isUsed: () => true,
  async sessionNames(profile, connection, claimed) {
    const { containerName } = await import('./podman/argv/podman-run.ts');
    // Without a process in it, such as `ssh -N`, there may be no container.
    const isIn = claimed === containerName(profile, connection);
    return isIn
      ? { name: claimed, claimedName: undefined }
      : { name: undefined, claimedName: claimed };
  },
  async cleanUp(site, _user, connection) {
    const { containerCleanup } = await import('./podman/clean-up-containers.ts');
    return containerCleanup(site, connection);
  },
};

/** Containers in a job of Slurm. The job ends itself when no session uses it, so no cleanup belongs to it here. */
const slurmBackend: Backend = {
  name: 'slurm',
  noun: 'job',
  runsHere: false,
  isUsed: (settings) => namesBackend(settings, 'slurm'),
  async sessionNames(profile, connection, claimedName) {
    const { jobName } = await import('./slurm/argv/slurm-job.ts');
    return { name: jobName(profile, connection), claimedName };
  },
  cleanUp: () => Promise.resolve([]),
};

const all: Readonly<Record<BackendName, Backend>> = {
  podman: podmanBackend,
  pod: podBackend,
  slurm: slurmBackend,
};

/** The backend of a profile or a session. */
export function backendOf({ backend }: { readonly backend: BackendName }): Backend {
  return all[backend];
}

/** The backends that sessions of this host may use, or may have used. */
export function backendsIn(settings: Pick<SshSettings, 'profiles' | 'rules'>): readonly Backend[] {
  return Object.values(all).filter((backend) => backend.isUsed(settings));
}
