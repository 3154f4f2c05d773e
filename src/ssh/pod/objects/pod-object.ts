import type { Lifetime, Profile } from '../../../config/profile/profile.ts';
import type { PodVolume } from '../../../config/profile/pod-fields.ts';
import { lifetimeAnnotation } from '../../../desired/names.ts';
import type { User } from '../../../identity/user.ts';
import type { ReadyMount } from '../../podman/argv/podman-run.ts';
import { filesInside } from '../../../transfer-tools.ts';
import { podGroup, podPasswd } from './passwd-file.ts';
import { fillTemplate } from '../../request/template.ts';

/** Whose pod, where, and what of it only a connection knows. */
export interface PodInput {
  readonly user: User;
  readonly profile: Profile;
  readonly namespace: string;
  /** Name of this login node: connections of another one must not be taken for its own. */
  readonly loginHost: string;
  /** `PID.STARTTIME` of the sshd that serves the connection; absent at a console. */
  readonly connection?: string;
  /** Names of the user's groups by GID, as far as NSS knows them. */
  readonly groupNames: ReadonlyMap<number, string>;
}

/** A Pod as it is sent; only the fields that Berth decides. */
export interface PodObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The one container of a session's pod. */
export const podContainer = 'session';

const identityVolume = 'berth-identity';
/** Programs for file transfer that an image lacks. */
const filesVolume = 'berth-files';
const podAnnotations = {
  /** passwd(5) and group(5) inside: the downward API makes files of them. */
  passwd: 'berth.dev/passwd',
  group: 'berth.dev/group',
} as const;

export const podLabels = {
  managedBy: 'app.kubernetes.io/managed-by',
  profile: 'berth.dev/profile',
  loginHost: 'berth.dev/login-host',
  /** Of a pod for one connection, `PID.STARTTIME`. */
  connection: 'berth.dev/connection',
} as const;

/** Selects the pods of SSH sessions that came in through this login node. */
export function podSelector(loginHost: string): string {
  return `${podLabels.managedBy}=berth,${podLabels.loginHost}=${hostLabel(loginHost)}`;
}

/** The first label of the name, as Kubernetes takes it. */
export function hostLabel(loginHost: string): string {
  const [label = ''] = loginHost.toLowerCase().split('.');
  return (
    label
      .replaceAll(/[^a-z0-9-]/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 40) || 'login'
  );
}

/**
 * The name of the pod that a connection's sessions run in: the same for all connections of a user to
 * this login node, or the connection's own. Names are the namespace's, and that is the user's.
 */
export function podName({
  profile,
  loginHost,
  connection,
}: Pick<PodInput, 'profile' | 'loginHost' | 'connection'>): string {
  const shared = profile.lifetime.kind !== 'connection' || connection === undefined;
  const name = `berth-${profile.name}-${hostLabel(loginHost)}`;
  return shared ? name : `${name}-${connection.replaceAll('.', '-')}`;
}

/**
 * A pod that only waits: every session is an exec into it. It runs as the user, with the user's
 * groups and nothing more, on whichever node the scheduler takes.
 *
 * @throws {BerthError} as `fillTemplate`
 */
export function podObject(input: PodInput): PodObject {
  const { user, profile, namespace, connection } = input;
  const { pod, lifetime } = profile;
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
        [podLabels.loginHost]: hostLabel(input.loginHost),
        ...(connection === undefined || lifetime.kind !== 'connection'
          ? {}
          : { [podLabels.connection]: connection }),
      },
      annotations: {
        [podAnnotations.passwd]: podPasswd(user, profile.shell),
        [podAnnotations.group]: podGroup(user, input.groupNames),
        [lifetimeAnnotation]: goDuration(longestLife(lifetime)),
      },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The sandbox's own process reaps what sessions leave.
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
      ...(profile.hostname === undefined
        ? {}
        : { hostname: fillTemplate(profile.hostname, user).replaceAll('.', '-').slice(0, 63) }),
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
            { name: filesVolume, mountPath: filesInside },
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

/** A pod keeps the groups that it was made with: the primary one, then the others, ascending. */
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

interface NamedMount extends Pick<ReadyMount, 'target' | 'readOnly'> {
  readonly name: string;
  readonly source: Readonly<Record<string, unknown>>;
}

/** The profile's mounts as folders of the node; which of them is there, only the node can say. */
function volumeMounts({ mounts, pod }: Profile, user: User): NamedMount[] {
  const folders = mounts.map((mount, index) => ({
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
  return [...folders, ...volumes];
}

function volumeSource(volume: PodVolume): Readonly<Record<string, unknown>> {
  return 'claim' in volume
    ? { persistentVolumeClaim: { claimName: volume.claim } }
    : { nfs: volume.nfs };
}

function homeMounted(mounts: readonly NamedMount[], { home }: User): boolean {
  return mounts.some(({ target }) => home === target || home.startsWith(`${target}/`));
}

/** Requests are there even where the profile has no limits: quotas and policies want them. */
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

/** A session per connection, or one that waits for the next: not for ever, whatever is forgotten. */
const longestConnectionMs = 7 * 24 * 3600 * 1000;

function longestLife(lifetime: Lifetime): number {
  return lifetime.kind === 'duration' ? lifetime.durationMs : longestConnectionMs;
}

/** As Go prints a duration: job-pod-reaper parses it with time.ParseDuration. */
function goDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m${seconds % 60}s`;
}

/** How long a pod stays on a node that got the taint, as v1.Toleration has it. */
function toleration({ seconds, ...taint }: Profile['pod']['tolerations'][number]): object {
  return seconds === undefined ? taint : { ...taint, tolerationSeconds: seconds };
}
