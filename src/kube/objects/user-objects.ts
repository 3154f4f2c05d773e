import type { RbacV1Subject } from '@kubernetes/client-node';
import type { ClusterSettings, JsonObject, VolumeClaim } from '../../config/schema/settings.ts';
import type { User } from '../../system/identity/nss.ts';
import type { KubeJson, KubeObject } from './kube-object.ts';
import { networkPolicy } from './network-policy.ts';
import {
  annotations,
  clusterRoles,
  defaultServiceAccount,
  quotaAndLimitRangeName,
  namespaceLabel,
  roleBindingNames,
  sessionServiceAccount,
  userVolumeLabel,
} from './well-known-names.ts';

type Subject = KubeJson<RbacV1Subject>;

/** All objects of a user on one cluster. */
export interface UserObjects {
  /** The only cluster-scoped object; it contains the others. */
  readonly namespace: KubeObject<'Namespace'>;
  readonly members: readonly KubeObject[];
  /** With these beginnings of their names, RoleBindings that are not among the members bind nobody. */
  readonly decidedBindings?: readonly string[];
}

export interface DesiredInput {
  readonly user: User;
  readonly cluster: ClusterSettings;
  /** The namespace's name, from `namespaceOf`. */
  readonly namespace: string;
  /** The user name as the API server sees it. */
  readonly subject: string;
  /** Epoch seconds of this login. */
  readonly now: number;
  /** Contents of the site's `.dockerconfigjson`, if a pull secret is configured. */
  readonly dockerConfig?: string;
}

/**
 * The Kubernetes objects of a user, from the cluster's settings. Names and contents are those of OSC's
 * hooks, so that the policies and reapers of a site still work.
 */
export function userObjects(input: DesiredInput): UserObjects {
  const { user, cluster, namespace, dockerConfig } = input;
  const { pullSecret, credentials, resourceQuota, limitRange, sshSessions } = cluster;
  const { userRoles, jupyterhub, volumeClaims = [] } = cluster;
  const ownAccount = credentials.mode === 'service-account' ? credentials.name : undefined;
  const self: Subject =
    ownAccount === undefined
      ? { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: input.subject }
      : serviceAccountSubject(ownAccount, namespace);
  return {
    // A host whose berth.yml has no such key leaves the bindings of the others.
    decidedBindings: [
      ...(userRoles === undefined ? [] : [roleBindingNames.extra(user.name, '')]),
      ...(jupyterhub === null ? [roleBindingNames.jupyterhub(user.name)] : []),
    ],
    namespace: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: namespace,
        labels: { [namespaceLabel.key]: namespaceLabel.value },
        annotations: namespaceAnnotations(user, input.now),
      },
    },
    members: [
      networkPolicy(namespace, cluster),
      roleBinding(namespace, roleBindingNames.initializer(user.name), clusterRoles.initializer, [
        serviceAccountSubject(defaultServiceAccount, namespace),
      ]),
      roleBinding(namespace, roleBindingNames.user(user.name), clusterRoles.user, [self]),
      ...(userRoles ?? []).map((role) =>
        roleBinding(namespace, roleBindingNames.extra(user.name, role), role, [self]),
      ),
      ...(cluster.jobPodReaper
        ? [
            roleBinding(
              namespace,
              roleBindingNames.jobPodReaper(user.name),
              clusterRoles.jobPodReaper,
              [serviceAccountSubject('job-pod-reaper', 'job-pod-reaper')],
            ),
          ]
        : []),
      ...(!jupyterhub
        ? []
        : [
            roleBinding(
              namespace,
              roleBindingNames.jupyterhub(user.name),
              clusterRoles.jupyterhub,
              [serviceAccountSubject(jupyterhub.serviceAccount, jupyterhub.namespace)],
            ),
          ]),
      ...(pullSecret !== undefined && dockerConfig !== undefined
        ? pullSecretObjects(namespace, pullSecret.name, dockerConfig)
        : []),
      ...(ownAccount === undefined ? [] : [serviceAccount(namespace, ownAccount)]),
      ...(sshSessions === undefined ? [] : sessionObjects(namespace, user)),
      ...volumeClaims.map((claim) => volumeClaim(namespace, claim)),
      ...(resourceQuota === undefined ? [] : [limits('ResourceQuota', namespace, resourceQuota)]),
      ...(limitRange === undefined ? [] : [limits('LimitRange', namespace, limitRange)]),
    ],
  };
}

function namespaceAnnotations(user: User, now: number): Record<string, string> {
  return {
    [annotations.owner]: user.name,
    [annotations.uid]: String(user.uid),
    [annotations.gid]: String(user.gid),
    [annotations.groups]: user.groups.join(','),
    // Whole seconds: OSC's reaper reads an integer.
    [annotations.lastHookExecution]: String(Math.floor(now)),
  };
}

function roleBinding(
  namespace: string,
  name: string,
  role: string,
  subjects: readonly Subject[],
): KubeObject<'RoleBinding'> {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects,
  };
}

function serviceAccountSubject(name: string, namespace: string): Subject {
  return { kind: 'ServiceAccount', name, namespace };
}

function serviceAccount(namespace: string, name: string): KubeObject<'ServiceAccount'> {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
}

/** The ServiceAccount that makes the user's pods for SSH, with rights to pods only. */
function sessionObjects(namespace: string, user: User): KubeObject[] {
  return [
    { ...serviceAccount(namespace, sessionServiceAccount), automountServiceAccountToken: false },
    roleBinding(namespace, roleBindingNames.session(user.name), clusterRoles.session, [
      serviceAccountSubject(sessionServiceAccount, namespace),
    ]),
  ];
}

/**
 * The secret and its reference. Applying it also creates the account if the controller has not done so
 * yet; the references of an existing account stay (`mergePullSecrets`).
 */
function pullSecretObjects(namespace: string, name: string, dockerConfig: string): KubeObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(dockerConfig).toString('base64') },
    },
    {
      ...serviceAccount(namespace, defaultServiceAccount),
      imagePullSecrets: [{ name }],
    },
  ];
}

function volumeClaim(
  namespace: string,
  { name, size, storageClass, accessModes }: VolumeClaim,
): KubeObject<'PersistentVolumeClaim'> {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, labels: { [userVolumeLabel]: 'true' } },
    spec: {
      accessModes,
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      resources: { requests: { storage: size } },
    },
  };
}

function limits(
  kind: 'ResourceQuota' | 'LimitRange',
  namespace: string,
  spec: JsonObject,
): KubeObject {
  const metadata = { name: quotaAndLimitRangeName, namespace };
  // `spec` is the site's: the API server checks it.
  return { apiVersion: 'v1', kind, metadata, spec } as unknown as KubeObject;
}
