import type { Backend } from '../backend.ts';

/** Containers of rootless podman on the login node. All else is imported when it is needed: PAM's hook uses little of it. */
export const podmanBackend: Backend = {
  ...{ name: 'podman', noun: 'container', runsHere: true },
  // Containers of profiles that were removed have to be cleaned up too.
  isUsed: () => true,
  async sessionNames(profile, connection, claimed) {
    const { containerName } = await import('./argv/podman-run.ts');
    // Without a process in it, such as `ssh -N`, there may be no container.
    const isIn = claimed === containerName(profile, connection);
    return isIn
      ? { name: claimed, claimedName: undefined }
      : { name: undefined, claimedName: claimed };
  },
  async cleanUp(site, _user, connection) {
    const { containerCleanup } = await import('./expired-containers.ts');
    return containerCleanup(site, connection);
  },
};
