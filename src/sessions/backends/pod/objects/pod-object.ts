import type { V1PodSpec } from '@kubernetes/client-node';
import type { KubeJson } from '../../../../kube/objects/kube-object.ts';
import type { Profile } from '../../../../config/schema/profile/profile.ts';
import { lifetimeAnnotation } from '../../../../kube/objects/well-known-names.ts';
import type { User } from '../../../../system/identity/nss.ts';
import { transferToolsDir } from '../../../../config/schema/bundled-transfer-argv.ts';
import { type NamedMount, podAnnotations, profilePod } from './profile-pod.ts';
import { groupFile, passwdFile } from '../../../../system/identity/passwd-file.ts';
import { fillTemplate } from '../../../request/fill-template.ts';
import { hostLabel, sessionId } from '../../../../system/program/session-id.ts';

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

/** For programs for file transfer that the image lacks. */
const filesVolume = 'berth-files';
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
  const forAllNodes = isForAllNodes(profile);
  const ofProfile = profilePod(profile, (template) => fillTemplate(template, user));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(input),
      namespace,
      labels: {
        [podLabels.managedBy]: 'berth',
        [podLabels.profile]: profile.name,
        ...(!forAllNodes && { [podLabels.loginHost]: hostLabel(input.loginHost) }),
        ...(forAllNodes || connection === undefined ? {} : { [podLabels.connection]: connection }),
      },
      annotations: {
        [podAnnotations.passwd]: passwdFile(user, profile.shell),
        [podAnnotations.group]: groupFile(user, input.groupNames),
        [lifetimeAnnotation]: ofProfile.lifetime,
        ...(connection !== undefined && {
          'kubernetes.io/description': `Made by the SSH session ${sessionId(connection, input.loginHost)}`,
        }),
      },
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // The sandbox's process reaps orphaned processes.
      shareProcessNamespace: true,
      terminationGracePeriodSeconds: 1,
      activeDeadlineSeconds: ofProfile.activeDeadlineSeconds,
      securityContext: {
        runAsUser: user.uid,
        runAsGroup: user.gid,
        fsGroup: user.gid,
        supplementalGroups: supplementalGroups(user),
        ...ofProfile.securityContext,
      },
      ...ofProfile.spec,
      containers: [
        {
          name: podContainer,
          image: ofProfile.image,
          imagePullPolicy: ofProfile.imagePullPolicy,
          command: ['sleep', 'infinity'],
          workingDir: homeMounted(ofProfile.mounts, user) ? user.home : '/',
          env: [
            { name: 'HOME', value: user.home },
            { name: 'USER', value: user.name },
            { name: 'LOGNAME', value: user.name },
            { name: 'BERTH_GROUPS', value: groupsText(user) },
          ],
          resources: ofProfile.resources,
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: [
            ...ofProfile.volumeMounts,
            { name: filesVolume, mountPath: transferToolsDir },
          ],
        },
      ],
      volumes: [...ofProfile.volumes, { name: filesVolume, emptyDir: { sizeLimit: '64Mi' } }],
    },
  };
}

/** The groups of a pod, which it keeps: the primary one, then the others in ascending order. */
export function groupsText(user: User): string {
  return [user.gid, ...supplementalGroups(user)].join(' ');
}

function supplementalGroups({ gid, groups }: User): number[] {
  return groups.filter((group) => group !== gid && group !== 0);
}

function homeMounted(mounts: readonly NamedMount[], { home }: User): boolean {
  return mounts.some(({ target }) => home === target || home.startsWith(`${target}/`));
}
