import type { V1PodSpec } from '@kubernetes/client-node';
import type { KubeJson } from '../../../kube/objects/kube-object.ts';
import type { Lifetime, Profile } from '../../../config/schema/profile/profile.ts';
import type { PodVolume } from '../../../config/schema/profile/pod-fields.ts';
import { lifetimeAnnotation } from '../../../kube/objects/well-known-names.ts';
import type { User } from '../../../identity/nss.ts';
import type { ResolvedMount } from '../../podman/argv/podman-run.ts';
import { transferToolsDir } from '../../../bundled-transfer-argv.ts';
import { groupFile, passwdFile } from './passwd-file.ts';
import { fillTemplate } from '../../../session/fill-template.ts';

/** Input for a session's pod. */
export interface PodInput {
  readonly user: User;
  readonly profile: Profile;
  readonly namespace: string;
  /** Hostname of this login node, for a pod that belongs to one connection. */
  readonly loginHost: string;
  /** `PID.STARTTIME` of the sshd process of the connection; absent at a console. */
  readonly connection?: string;
  /** Names of the user's groups by GID, if NSS knows them. */
  readonly groupNames: ReadonlyMap<number, string>;
}

/** A Pod with the fields that Berth sets. */
export interface PodObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: KubeJson<V1PodSpec>;
}

/** The name of the container of a session's pod. */
export const podContainer = 'session';

const identityVolume = 'berth-identity';
/** For programs for file transfer that the image lacks. */
const filesVolume = 'berth-files';
const podAnnotations = {
  /** Contents of /etc/passwd and /etc/group, which the downward API mounts as files. */
  passwd: 'berth.dev/passwd',
  group: 'berth.dev/group',
} as const;

export const podLabels = {
  managedBy: 'app.kubernetes.io/managed-by',
  profile: 'berth.dev/profile',
  /** The login node of a pod that only its connections use; absent if all login nodes share the pod. */
  loginHost: 'berth.dev/login-host',
  /** `PID.STARTTIME`, for a pod of a single connection. */
  connection: 'berth.dev/connection',
} as const;

/** Selects the pods of SSH sessions of all login nodes. */
export const podSelector = `${podLabels.managedBy}=berth`;

/** The first part of the hostname, as a valid label value. */
export function hostLabel(loginHost: string): string {
  const [first = ''] = loginHost.split('.');
  return dnsLabel(first, 40) || 'login';
}

/** A text as an RFC 1123 label of at most that length; empty if it has no letter and no digit. */
function dnsLabel(text: string, longest: number): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .replace(/^-+/, '')
    .slice(0, longest)
    .replace(/-+$/, '');
}

/** What a process in a pod has as BERTH_CONNECTION: IDs of connections are unique on one login node only. */
export function connectionMark(connection: string, loginHost: string): string {
  return `${connection}@${hostLabel(loginHost)}`;
}

/** Whether connections to all login nodes share the pods of a profile. */
function isForAllNodes({ lifetime }: Profile): boolean {
  return lifetime.kind !== 'connection';
}

/**
 * The name of the pod for a connection's sessions. All connections of a user share a pod, whichever login node they
 * reach, unless the profile gives each connection its own. The namespace is the user's, so the name need not contain
 * the user.
 */
export function podName({
  profile,
  loginHost,
  connection,
}: Pick<PodInput, 'profile' | 'loginHost' | 'connection'>): string {
  if (isForAllNodes(profile)) return `berth-${profile.name}`;
  const name = `berth-${profile.name}-${hostLabel(loginHost)}`;
  return connection === undefined ? name : `${name}-${connection.replaceAll('.', '-')}`;
}

/**
 * The pod of a user's sessions. Its own process only sleeps, and each session is an exec. It runs with the user's UID, GID
 * and groups, on the node that the scheduler chooses.
 *
 * @throws {BerthError} as `fillTemplate`
 */
export function podObject(input: PodInput): PodObject {
  const { user, profile, namespace, connection } = input;
  const { pod, lifetime } = profile;
  const forAllNodes = isForAllNodes(profile);
  const mounts = volumeMounts(profile, user);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(input),
      namespace,
      labels: {
        [podLabels.managedBy]: 'berth',
        [podLabels.profile]: profile.name,
        ...(forAllNodes ? {} : { [podLabels.loginHost]: hostLabel(input.loginHost) }),
        ...(forAllNodes || connection === undefined ? {} : { [podLabels.connection]: connection }),
      },
      annotations: {
        [podAnnotations.passwd]: passwdFile(user, profile.shell),
        [podAnnotations.group]: groupFile(user, input.groupNames),
        [lifetimeAnnotation]: goDuration(longestLife(lifetime)),
      },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The sandbox's process reaps orphaned processes.
      shareProcessNamespace: true,
      terminationGracePeriodSeconds: 1,
      activeDeadlineSeconds: Math.ceil(longestLife(lifetime) / 1000),
      securityContext: {
        runAsUser: user.uid,
        runAsGroup: user.gid,
        fsGroup: user.gid,
        supplementalGroups: supplementalGroups(user),
        ...(pod.supplementalGroupsPolicy === 'Strict'
          ? { supplementalGroupsPolicy: 'Strict' }
          : {}),
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...(profile.hostname === undefined ? {} : hostname(fillTemplate(profile.hostname, user))),
      ...(Object.keys(pod.nodeSelector).length === 0 ? {} : { nodeSelector: pod.nodeSelector }),
      ...(pod.tolerations.length === 0 ? {} : { tolerations: pod.tolerations.map(toleration) }),
      ...(pod.priorityClass === undefined ? {} : { priorityClassName: pod.priorityClass }),
      ...(pod.runtimeClass === undefined ? {} : { runtimeClassName: pod.runtimeClass }),
      ...(pod.pullSecret === undefined ? {} : { imagePullSecrets: [{ name: pod.pullSecret }] }),
      containers: [
        {
          name: podContainer,
          image: profile.image,
          imagePullPolicy: pullPolicies[profile.pull],
          command: ['sleep', 'infinity'],
          workingDir: homeMounted(mounts, user) ? user.home : '/',
          env: [
            { name: 'HOME', value: user.home },
            { name: 'USER', value: user.name },
            { name: 'LOGNAME', value: user.name },
            { name: 'BERTH_GROUPS', value: groupsText(user) },
          ],
          resources: resources(profile),
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: [
            ...mounts.map(({ name, target, readOnly }) => ({
              name,
              mountPath: target,
              ...(readOnly ? { readOnly } : {}),
            })),
            { name: identityVolume, mountPath: '/etc/passwd', subPath: 'passwd', readOnly: true },
            { name: identityVolume, mountPath: '/etc/group', subPath: 'group', readOnly: true },
            { name: filesVolume, mountPath: transferToolsDir },
          ],
        },
      ],
      volumes: [
        ...mounts.map(({ name, source }) => ({ name, ...source })),
        identity,
        { name: filesVolume, emptyDir: { sizeLimit: '64Mi' } },
      ],
    },
  };
}

/** The name of a pod's host is a label, which account names and host names need not be. */
function hostname(wanted: string): { readonly hostname?: string } {
  const label = dnsLabel(wanted, 63);
  return label === '' ? {} : { hostname: label };
}

/** The groups of a pod, which it keeps: the primary one, then the others in ascending order. */
export function groupsText(user: User): string {
  return [user.gid, ...supplementalGroups(user)].join(' ');
}

function supplementalGroups({ gid, groups }: User): number[] {
  return groups.filter((group) => group !== gid && group !== 0);
}

const pullPolicies = { never: 'Never', missing: 'IfNotPresent', always: 'Always' } as const;

const identity = {
  name: identityVolume,
  downwardAPI: {
    items: (['passwd', 'group'] as const).map((path) => ({
      path,
      fieldRef: { fieldPath: `metadata.annotations['${podAnnotations[path]}']` },
    })),
  },
};

interface NamedMount extends Pick<ResolvedMount, 'target' | 'readOnly'> {
  readonly name: string;
  readonly source: Readonly<Record<string, unknown>>;
}

/** The profile's mounts as directories of the node. Only the node knows whether they exist. */
function volumeMounts({ mounts, pod }: Profile, user: User): NamedMount[] {
  const directories = mounts.map((mount, index) => ({
    name: `mount-${index}`,
    target: fillTemplate(mount.target ?? mount.source, user),
    readOnly: mount.readOnly,
    source: {
      hostPath: {
        path: fillTemplate(mount.source, user),
        type: mount.missing === 'fail' ? 'Directory' : '',
      },
    },
  }));
  const volumes = Object.entries(pod.volumes).map(([target, volume], index) => ({
    name: `volume-${index}`,
    target,
    readOnly: volume.readOnly,
    source: volumeSource(volume),
  }));
  return [...directories, ...volumes];
}

function volumeSource(volume: PodVolume): Readonly<Record<string, unknown>> {
  return 'claim' in volume
    ? { persistentVolumeClaim: { claimName: volume.claim } }
    : { nfs: volume.nfs };
}

function homeMounted(mounts: readonly NamedMount[], { home }: User): boolean {
  return mounts.some(({ target }) => home === target || home.startsWith(`${target}/`));
}

/** Requests and limits are always set, because quotas and policies require them. */
function resources({ limits, pod }: Profile): Readonly<Record<string, unknown>> {
  const limited = {
    ...(limits.cpus === undefined ? {} : { cpu: String(limits.cpus) }),
    ...(limits.memory === undefined ? {} : { memory: String(limits.memory) }),
    ...Object.fromEntries(
      Object.entries(pod.extended).map(([name, count]) => [name, String(count)]),
    ),
  };
  return {
    requests: { cpu: '100m', memory: '128Mi', ...limited },
    limits: { cpu: '1', memory: '1Gi', ...limited },
  };
}

/** Upper limit for a pod without a duration in its profile, in case nothing removes it. */
const longestConnectionMs = 7 * 24 * 3600 * 1000;

function longestLife(lifetime: Lifetime): number {
  return lifetime.kind === 'duration' ? lifetime.durationMs : longestConnectionMs;
}

/** In Go's format, because job-pod-reaper parses it with time.ParseDuration. */
function goDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m${seconds % 60}s`;
}

/** A toleration as v1.Toleration. `seconds` is how long the pod stays on a node with the taint. */
function toleration({ seconds, ...taint }: Profile['pod']['tolerations'][number]): object {
  return seconds === undefined ? taint : { ...taint, tolerationSeconds: seconds };
}
