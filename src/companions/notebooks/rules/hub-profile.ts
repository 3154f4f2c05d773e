import type { Profile } from '../../../config/schema/profile/profile.ts';
import { lifetimeAnnotation } from '../../../kube/objects/well-known-names.ts';
import { podLabels } from '../../../sessions/backends/pod/objects/pod-object.ts';
import { refuseTimeLimits } from './refuse-time-limits.ts';
import { profilePod, type ProfilePod } from '../../../sessions/backends/pod/objects/profile-pod.ts';

/** A profile as the hub's package (etc/jupyterhub) reads it. Texts in `traits` are templates of an account. */
export interface HubProfile {
  readonly name: string;
  /** Beside the name in the form that a user sees. */
  readonly description: string;
  /** Absent: for everybody. */
  readonly groups?: readonly string[];
  readonly backend: 'pod' | 'slurm';
  /** Traits of KubeSpawner, none for a job: always the same ones, so that nothing of an earlier choice stays. */
  readonly traits: Readonly<Record<string, unknown>>;
}

/** A notebook server of a profile, in a pod. @throws {BerthError} `time-limit-unsupported` */
export function hubPodProfile(profile: Profile): HubProfile {
  refuseTimeLimits(profile, 'notebook servers', 'ends when idle');
  // The hub fills the templates in, for each user.
  const pod = profilePod(profile, (template) => template);
  const {
    nodeSelector = {},
    tolerations = [],
    priorityClassName = '',
    runtimeClassName,
  } = pod.spec;
  return {
    name: profile.name,
    description: describe(profile, pod),
    groups: profile.groups,
    backend: 'pod',
    traits: {
      image: pod.image,
      image_pull_policy: pod.imagePullPolicy,
      image_pull_secrets: (pod.spec.imagePullSecrets ?? []).map(({ name }) => name),
      node_selector: nodeSelector,
      tolerations,
      priority_class_name: priorityClassName,
      ...resourceTraits(pod),
      volumes: pod.volumes,
      volume_mounts: pod.volumeMounts,
      environment: { ...profile.environment.set, BERTH_PROFILE: profile.name },
      args: cullingArgs(profile),
      extra_labels: {
        [podLabels.profile]: profile.name,
        // By which the chart's NetworkPolicy of the hub knows servers.
        'hub.jupyter.org/network-access-hub': 'true',
      },
      init_containers: [],
      extra_annotations: { [lifetimeAnnotation]: pod.lifetime },
      pod_security_context: pod.securityContext,
      container_security_context: { capabilities: { drop: ['ALL'] } },
      extra_pod_config: {
        restartPolicy: 'Never',
        activeDeadlineSeconds: pod.activeDeadlineSeconds,
        ...(runtimeClassName !== undefined && { runtimeClassName }),
      },
    },
  };
}

function describe(
  { pod, timeouts: { hardMs } }: Profile,
  { image, resources }: ProfilePod,
): string {
  const { cpu, memory, ...extended } = resources.limits;
  const parts = [
    `${cpu} CPU`,
    memory?.endsWith('Gi') ? `${memory} memory` : memoryText(Number(memory)),
    ...Object.entries(extended).map(([name, count]) => `${count} ${name}`),
    ...(hardMs === undefined ? [] : [`ends after ${timeText(hardMs)}`]),
  ];
  return `${image}${pod.cluster === undefined ? '' : ` on ${pod.cluster}`}: ${parts.join(', ')}`;
}

/** `8Gi memory`, `0.5Gi memory`. @param bytes limit */
export function memoryText(bytes: number): string {
  return `${Number((bytes / 1024 ** 3).toFixed(1))}Gi memory`;
}

/** `2 h`, `90 min`. */
function timeText(milliseconds: number): string {
  const minutes = Math.ceil(milliseconds / 60_000);
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}

/** KubeSpawner computes with numbers, and with JupyterHub's suffixes, whose G is 1024³. */
function resourceTraits({ resources }: ProfilePod): Record<string, unknown> {
  const { requests, limits } = resources;
  const { cpu, memory, ...extended } = limits;
  const cpus = (quantity = ''): number =>
    quantity.endsWith('m') ? parseInt(quantity, 10) / 1000 : Number(quantity);
  const bytes = (quantity = ''): string | number =>
    quantity.endsWith('i') ? quantity.slice(0, -1) : Number(quantity);
  return {
    cpu_guarantee: cpus(requests.cpu),
    cpu_limit: cpus(cpu),
    mem_guarantee: bytes(requests.memory),
    mem_limit: bytes(memory),
    extra_resource_guarantees: extended,
    extra_resource_limits: extended,
  };
}

/** For a profile whose containers end with the connection, which a browser does not have. Milliseconds. */
const idleWithoutConnectionMs = 3600_000;

/**
 * Arguments of the server, which ends by itself when it has been idle as long as a session of the profile would stay.
 * With a lifetime that is a time it ends then, idle or not.
 */
export function cullingArgs({
  lifetime,
  timeouts: { idleMs, hardMs = Infinity },
}: Pick<Profile, 'lifetime' | 'timeouts'>): string[] {
  if (idleMs !== undefined) return idleArgs(idleMs);
  if (lifetime.kind === 'connection') return endingArgs(idleWithoutConnectionMs);
  return lifetime.graceMs >= hardMs ? [] : endingArgs(lifetime.graceMs);
}

/** Arguments of a Jupyter server that ends after `timeouts.idle`, although its page is open. @param ms time without activity */
export function idleArgs(ms: number): string[] {
  return [...endingArgs(ms), '--MappingKernelManager.cull_connected=True'];
}

function endingArgs(ms: number): string[] {
  const idle = Math.max(1, Math.ceil(ms / 1000));
  return [
    `--ServerApp.shutdown_no_activity_timeout=${idle}`,
    `--MappingKernelManager.cull_idle_timeout=${idle}`,
    `--MappingKernelManager.cull_interval=${Math.min(300, Math.max(1, Math.floor(idle / 2)))}`,
    `--TerminalManager.cull_inactive_timeout=${idle}`,
  ];
}
