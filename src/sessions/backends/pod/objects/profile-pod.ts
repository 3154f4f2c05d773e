import type {
  V1PodSecurityContext,
  V1PodSpec,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';
import type { KubeJson } from '../../../../kube/objects/kube-object.ts';
import type { Profile } from '../../../../config/schema/profile/profile.ts';
import { dnsLabel } from '../../../../system/program/session-id.ts';
import type { ResolvedMount } from '../../podman/argv/podman-run.ts';

/** A volume of a profile, and where it is mounted. */
export interface NamedMount extends Pick<ResolvedMount, 'target' | 'readOnly'> {
  readonly name: string;
  readonly source: Readonly<Record<string, unknown>>;
}

/** The fields of a pod that come from its profile alone, for a session, a notebook or an app of the portal. */
export interface ProfilePod {
  readonly image: string;
  readonly imagePullPolicy: 'Never' | 'IfNotPresent' | 'Always';
  readonly mounts: readonly NamedMount[];
  /** The mounts, and /etc/passwd and /etc/group from the pod's annotations. */
  readonly volumes: readonly KubeJson<V1Volume>[];
  readonly volumeMounts: readonly KubeJson<V1VolumeMount>[];
  /** The pod's `securityContext`, without the identity of the user. */
  readonly securityContext: KubeJson<V1PodSecurityContext>;
  readonly resources: Readonly<Record<'requests' | 'limits', Readonly<Record<string, string>>>>;
  /** How long the pod may live. `lifetime` is the same as a Go duration, for job-pod-reaper. */
  readonly activeDeadlineSeconds: number;
  readonly lifetime: string;
  /** Further fields of the pod's `spec`, as Kubernetes names them. */
  readonly spec: Pick<
    KubeJson<V1PodSpec>,
    | 'hostname'
    | 'nodeSelector'
    | 'tolerations'
    | 'priorityClassName'
    | 'runtimeClassName'
    | 'imagePullSecrets'
  >;
}

/**
 * @param fill Replaces the templates of the profile
 * @throws {BerthError} those of `fill`
 */
export function profilePod(profile: Profile, fill: (template: string) => string): ProfilePod {
  const { pod } = profile;
  const mounts = namedMounts(profile, fill);
  return {
    image: profile.image,
    imagePullPolicy: pullPolicies[profile.pull],
    mounts,
    volumes: [...mounts.map(({ name, source }) => ({ name, ...source })), identity.volume],
    volumeMounts: [
      ...mounts.map(({ name, target, readOnly }) => ({
        name,
        mountPath: target,
        ...(readOnly && { readOnly }),
      })),
      ...identity.mounts,
    ],
    securityContext: {
      ...(pod.supplementalGroupsPolicy === 'Strict' && { supplementalGroupsPolicy: 'Strict' }),
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    resources: resources(profile),
    activeDeadlineSeconds: Math.ceil(longestLife(profile) / 1000),
    lifetime: goDuration(longestLife(profile)),
    spec: {
      ...(profile.hostname !== undefined && hostname(fill(profile.hostname))),
      ...(Object.keys(pod.nodeSelector).length > 0 && { nodeSelector: pod.nodeSelector }),
      ...(pod.tolerations.length > 0 && { tolerations: pod.tolerations.map(toleration) }),
      ...(pod.priorityClass !== undefined && { priorityClassName: pod.priorityClass }),
      ...(pod.runtimeClass !== undefined && { runtimeClassName: pod.runtimeClass }),
      ...(pod.pullSecret !== undefined && { imagePullSecrets: [{ name: pod.pullSecret }] }),
    },
  };
}

const pullPolicies = { never: 'Never', missing: 'IfNotPresent', always: 'Always' } as const;

/** The name of a pod's host is a label, which account names and host names need not be. */
function hostname(wanted: string): { readonly hostname?: string } {
  const label = dnsLabel(wanted, 63);
  return label === '' ? {} : { hostname: label };
}

/** The profile's mounts as directories of the node. Only the node knows whether they exist. */
function namedMounts({ mounts, pod }: Profile, fill: (template: string) => string): NamedMount[] {
  const directories = mounts.map((mount, index) => ({
    name: `mount-${index}`,
    target: fill(mount.target ?? mount.source),
    readOnly: mount.readOnly,
    source: {
      hostPath: {
        path: fill(mount.source),
        type: mount.missing === 'fail' ? 'Directory' : '',
      },
    },
  }));
  const volumes = Object.entries(pod.volumes).map(([target, volume], index) => ({
    name: `volume-${index}`,
    target,
    readOnly: volume.readOnly,
    source:
      'claim' in volume
        ? { persistentVolumeClaim: { claimName: volume.claim } }
        : { nfs: volume.nfs },
  }));
  return [...directories, ...volumes];
}

/** Requests and limits are always set, because quotas and policies require them. */
function resources({ limits, pod }: Profile): ProfilePod['resources'] {
  const limited = {
    ...(limits.cpus !== undefined && { cpu: String(limits.cpus) }),
    ...(limits.memory !== undefined && { memory: String(limits.memory) }),
    ...Object.fromEntries(
      Object.entries(pod.extended).map(([name, count]) => [name, String(count)]),
    ),
  };
  return {
    requests: { cpu: '100m', memory: '128Mi', ...limited },
    limits: { cpu: '1', memory: '1Gi', ...limited },
  };
}

/** A toleration as v1.Toleration. `seconds` is how long the pod stays on a node with the taint. */
function toleration({ seconds, ...taint }: Profile['pod']['tolerations'][number]): object {
  return seconds === undefined ? taint : { ...taint, tolerationSeconds: seconds };
}

export const podAnnotations = {
  /** Contents of /etc/passwd and /etc/group, which the downward API mounts as files. */
  passwd: 'berth.dev/passwd',
  group: 'berth.dev/group',
} as const;

/** /etc/passwd and /etc/group of a pod, from its annotations. */
const identity = {
  volume: {
    name: 'berth-identity',
    downwardAPI: {
      items: (['passwd', 'group'] as const).map((path) => ({
        path,
        fieldRef: { fieldPath: `metadata.annotations['${podAnnotations[path]}']` },
      })),
    },
  },
  mounts: (['passwd', 'group'] as const).map((file) => ({
    name: 'berth-identity',
    mountPath: `/etc/${file}`,
    subPath: file,
    readOnly: true,
  })),
};

/** Upper limit for a pod without a time limit in its profile, in case nothing removes it. */
const longestConnectionMs = 7 * 24 * 3600 * 1000;

function longestLife({ timeouts }: Profile): number {
  return timeouts.hardMs ?? longestConnectionMs;
}

/** In Go's format, because job-pod-reaper parses it with time.ParseDuration. */
function goDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m${seconds % 60}s`;
}
