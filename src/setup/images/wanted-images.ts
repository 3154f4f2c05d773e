import type { PodmanPaths, Profile } from '../../config/schema/profile/profile.ts';
import type { ProgramCall } from '../../system/program/program-call.ts';

/** An image that profiles need. */
export interface WantedImage {
  /** As written in the profile, `NAME[:TAG][@sha256:…]`. */
  readonly image: string;
  /** Names of profiles. */
  readonly profiles: readonly string[];
}

/** The images of the profiles and their fallback images, each once, sorted. */
export function wantedImages(profiles: ReadonlyMap<string, Profile>): WantedImage[] {
  const users = new Map<string, string[]>();
  for (const profile of profiles.values()) {
    // The nodes of a Kubernetes cluster pull images themselves. For jobs of Slurm, this host may be a compute node.
    if (profile.backend === 'pod') continue;
    const { name, image, failure } = profile;
    for (const one of new Set([image, failure.image]))
      if (one !== undefined) users.set(one, [...(users.get(one) ?? []), name]);
  }
  return [...users]
    .map(([image, names]) => ({ image, profiles: names.sort() }))
    .sort((one, other) => (one.image < other.image ? -1 : 1));
}

/**
 * Where podman keeps layers and metadata. The metadata is a copy that only root sees; the layers are those of the
 * shared store.
 */
export interface WorkingStore {
  readonly directory: string;
  /** `storage.conf` for it. */
  readonly conf: string;
}

/**
 * storage.conf(5). `force_mask = "shared"` makes every file readable for all and removes setuid bits; owner and mode
 * are kept in an attribute, from which fuse-overlayfs restores them inside. So users can read the store, but setuid
 * programs in it give them nothing on the host.
 */
export function storageConf({ directory }: WorkingStore, { mountProgram }: PodmanPaths): string {
  const lines = [
    '[storage]',
    'driver = "overlay"',
    `graphroot = ${JSON.stringify(directory)}`,
    `runroot = ${JSON.stringify(`${directory}/run`)}`,
  ];
  if (mountProgram !== undefined) {
    lines.push('[storage.options.overlay]');
    lines.push(`mount_program = ${JSON.stringify(mountProgram)}`, 'force_mask = "shared"');
  }
  return `${lines.join('\n')}\n`;
}

/** podman's arguments to pull an image. Podman opens the file with credentials. */
export function pullArgs(image: string, authFile?: string): string[] {
  const credentials = authFile === undefined ? [] : ['--authfile', authFile];
  return ['pull', '--quiet', ...credentials, image];
}

/** podman's arguments to load a docker or OCI archive. */
export function loadArgs(file: string): string[] {
  return ['load', '--quiet', '--input', file];
}

/** podman's arguments to give an image another name. */
export function tagArgs(id: string, name: string): string[] {
  return ['tag', id, name];
}

/** podman's arguments to remove images by ID, with all their names. */
export function removeArgs(ids: readonly string[]): string[] {
  return ['rmi', '--force', ...ids];
}

/**
 * A podman command on the store. setpriv(1) kills it if `berth` ends: otherwise it would write into the working copy of
 * the next `berth`. The mount namespace removes what a failing podman leaves mounted (its directory of layers, on
 * itself).
 *
 * @param passed The admin's environment, from which proxies, certificates and the locale are passed on.
 */
export function podmanStoreCommand(
  podman: PodmanPaths,
  store: WorkingStore,
  args: readonly string[],
  passed: Readonly<NodeJS.ProcessEnv>,
): ProgramCall {
  return {
    file: '/usr/bin/unshare',
    args: [
      'unshare',
      '--mount',
      '--propagation',
      'private',
      '--',
      'setpriv',
      '--pdeathsig',
      'KILL',
      '--',
      podman.podman,
      '--tmpdir',
      `${store.directory}/tmp`,
      '--events-backend',
      'none',
      '--log-level',
      'error',
      ...args,
    ],
    env: storeEnvironment(store, passed),
  };
}

/** Podman uses root's containers.conf, registries.conf and policy.json, but not root's own store. */
function storeEnvironment(
  { directory, conf }: WorkingStore,
  passed: Readonly<NodeJS.ProcessEnv>,
): Record<string, string> {
  const kept = Object.entries(passed).flatMap(([name, value]) =>
    value !== undefined && /^(?:(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|LANG)$/i.test(name)
      ? [[name, value] as const]
      : [],
  );
  return {
    ...Object.fromEntries(kept),
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    TMPDIR: `${directory}/tmp`,
    CONTAINERS_STORAGE_CONF: conf,
  };
}
