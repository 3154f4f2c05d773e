import type { PodmanPaths, Profile } from '../config/profile/profile.ts';
import type { ProgramCall } from '../program-call.ts';

/** An image that somebody needs, and who. */
export interface WantedImage {
  /** As the profile has it, `NAME[:TAG][@sha256:…]`. */
  readonly image: string;
  /** Names of profiles. */
  readonly profiles: readonly string[];
}

/** The images of the profiles and those that they fall back to, each once, sorted. */
export function wantedImages(profiles: ReadonlyMap<string, Profile>): WantedImage[] {
  const users = new Map<string, string[]>();
  for (const { name, image, failure, backend } of profiles.values()) {
    // A cluster's nodes fetch theirs by themselves.
    if (backend === 'pod') continue;
    for (const one of new Set([image, failure.image]))
      if (one !== undefined) users.set(one, [...(users.get(one) ?? []), name]);
  }
  return [...users]
    .map(([image, names]) => ({ image, profiles: names.sort() }))
    .sort((one, other) => (one.image < other.image ? -1 : 1));
}

/**
 * Where podman keeps the layers' files and their descriptions. The descriptions are a copy that only
 * root sees, the files are those of the shared store: what users read changes in one step, at the end.
 */
export interface WorkStore {
  readonly folder: string;
  /** `storage.conf` for it. */
  readonly conf: string;
}

/**
 * storage.conf(5). `force_mask = "shared"` writes each file readable for all and without setuid bits,
 * and its true owner and mode into an attribute that fuse-overlayfs shows inside: users can read it
 * without being able to become anybody with it.
 */
export function storageConf({ folder }: WorkStore, { mountProgram }: PodmanPaths): string {
  const lines = [
    '[storage]',
    'driver = "overlay"',
    `graphroot = ${JSON.stringify(folder)}`,
    `runroot = ${JSON.stringify(`${folder}/run`)}`,
  ];
  if (mountProgram !== undefined) {
    lines.push('[storage.options.overlay]');
    lines.push(`mount_program = ${JSON.stringify(mountProgram)}`, 'force_mask = "shared"');
  }
  return `${lines.join('\n')}\n`;
}

/** The words for podman that fetch an image; a file with credentials is named, never opened by us. */
export function pullWords(image: string, authFile?: string): string[] {
  const credentials = authFile === undefined ? [] : ['--authfile', authFile];
  return ['pull', '--quiet', ...credentials, image];
}

/** The words that unpack a docker or OCI archive. */
export function loadWords(file: string): string[] {
  return ['load', '--quiet', '--input', file];
}

/** The words that give an image of the store another name. */
export function tagWords(id: string, name: string): string[] {
  return ['tag', id, name];
}

/** The words that take images out of the store, by ID, whatever names they have. */
export function removeWords(ids: readonly string[]): string[] {
  return ['rmi', '--force', ...ids];
}

/**
 * podman on the store. setpriv(1) ends it with us: a podman that outlives a killed `berth` would write
 * into what the next one believes to be its own. What it mounts and forgets when it fails (its folder
 * of layers, onto itself) is gone with a mount namespace of its own.
 *
 * @param passed the admin's variables: proxies, certificates, locale
 */
export function storeCall(
  podman: PodmanPaths,
  store: WorkStore,
  words: readonly string[],
  passed: Readonly<Record<string, string | undefined>>,
): ProgramCall {
  return {
    file: '/usr/bin/unshare',
    args: [
      ...['unshare', '--mount', '--propagation', 'private', '--'],
      ...['setpriv', '--pdeathsig', 'KILL', '--', podman.podman],
      ...['--tmpdir', `${store.folder}/tmp`, '--events-backend', 'none', '--log-level', 'error'],
      ...words,
    ],
    env: storeEnvironment(store, passed),
  };
}

/** Root's own containers.conf, registries.conf and policy.json count; another store's place does not. */
function storeEnvironment(
  { folder, conf }: WorkStore,
  passed: Readonly<Record<string, string | undefined>>,
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
    TMPDIR: `${folder}/tmp`,
    CONTAINERS_STORAGE_CONF: conf,
  };
}
