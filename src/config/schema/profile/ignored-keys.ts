import { type Backend, type Profile, type ProfileRule, sessionBackends } from './profile.ts';

/** Keys of a profile that have no effect with its backend. */
export interface IgnoredKeys {
  readonly profile: string;
  /** The backend of all sessions with this profile. */
  readonly backend: Backend;
  /** Paths of the keys. */
  readonly keys: readonly string[];
}

/**
 * Finds keys of a profile that have no effect, if all of its sessions use one backend. Keys of a profile that is used
 * with both backends are not reported.
 */
export function ignoredKeys(
  profile: Profile,
  rules: readonly ProfileRule[],
): IgnoredKeys | undefined {
  const backends = sessionBackends(profile, rules);
  const [backend = profile.backend] = backends;
  if (backends.size > 1) return undefined;
  const { lifetime } = profile;
  const linger = lifetime.kind === 'user' && lifetime.linger ? ['linger'] : [];
  const keys =
    backend === 'pod'
      ? ofPodman(profile)
      : [
          ...ofPods(profile),
          ...(backend === 'slurm' ? [...withoutEffectOnJobs(ofPodman(profile)), ...linger] : []),
        ];
  return keys.length === 0 ? undefined : { profile: profile.name, backend, keys };
}

function ofPodman({ network, limits, slurm, failure, podman, batch }: Profile): string[] {
  const { devices, capabilities, selinux } = podman;
  const keys = keysSet({
    // `host` may be the default, and `private` is what a pod has anyway.
    network: network !== 'host' && network !== 'private',
    'limits.pids': limits.pids !== undefined,
    slurm: slurm !== undefined,
    on_failure: failure.action !== 'refuse',
    'podman.devices': devices.length > 0,
    'podman.capabilities.add': capabilities.add.length > 0,
    'podman.capabilities.drop': capabilities.drop.length > 0,
    'podman.selinux': selinux !== undefined,
  });
  // A job's container is Podman's, whatever the sessions are.
  const inJobs = Object.values(batch).some((value) => value !== undefined);
  return inJobs ? withoutEffectOnJobs(keys) : keys;
}

/** A job's container is Podman's: these keys have no effect on it, either. */
function withoutEffectOnJobs(keys: readonly string[]): string[] {
  return keys.filter((key) => ['limits.pids', 'on_failure'].includes(key));
}

function ofPods({ pod }: Profile): string[] {
  return keysSet({
    'pod.cluster': pod.cluster !== undefined,
    'pod.node_selector': Object.keys(pod.nodeSelector).length > 0,
    'pod.tolerations': pod.tolerations.length > 0,
    'pod.extended': Object.keys(pod.extended).length > 0,
    'pod.volumes': Object.keys(pod.volumes).length > 0,
    'pod.pull_secret': pod.pullSecret !== undefined,
    'pod.priority_class': pod.priorityClass !== undefined,
    'pod.runtime_class': pod.runtimeClass !== undefined,
    'pod.supplemental_groups_policy': pod.supplementalGroupsPolicy !== 'Strict',
  });
}

function keysSet(isSet: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(isSet).filter((key) => isSet[key]);
}

const names: Readonly<Record<Backend, readonly [sessions: string, other: string]>> = {
  pod: ['pods', 'Podman'],
  podman: ["Podman's containers", 'pods'],
  slurm: ['jobs of Slurm', 'other sessions'],
};

/** One line that names the profile, the keys and the reason. */
export function ignoredKeysText({ profile, backend, keys }: IgnoredKeys): string {
  const [sessions, other] = names[backend];
  return `profile ${profile}: its sessions are ${sessions}, and ${keys.join(', ')} ${keys.length === 1 ? 'applies' : 'apply'} to ${other} only`;
}
