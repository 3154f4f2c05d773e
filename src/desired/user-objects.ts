import type { RbacV1Subject } from '@kubernetes/client-node';
import type { ClusterSettings, JsonObject } from '../config/settings.ts';
import type { User } from '../identity/user.ts';
import type { KubeJson } from './kube-json.ts';
import type { KubeObject } from './kube-object.ts';
import {
  annotations,
  clusterRoles,
  defaultServiceAccount,
  limitsName,
  namespaceLabel,
  networkPolicyName,
  roleBindingNames,
  sessionServiceAccount,
} from './names.ts';

type Subject = KubeJson<RbacV1Subject>;

/** Everything a user owns on one cluster. */
export interface UserObjects {
  /** The one cluster-scoped object; without it none of the others can exist. */
  readonly namespace: KubeObject<'Namespace'>;
  readonly members: readonly KubeObject[];
}

export interface DesiredInput {
  readonly user: User;
  readonly cluster: ClusterSettings;
  /** The namespace's name, from `namespaceOf`. */
  readonly namespace: string;
  /** The name under which the API server knows the user. */
  readonly subject: string;
  /** Epoch seconds of this login. */
  readonly now: number;
  /** Contents of the site's `.dockerconfigjson`, where a pull secret is configured. */
  readonly dockerConfig?: string;
}

/**
 * A user and a cluster's settings as Kubernetes objects: same input, same objects. Names and shapes
 * are those of OSC's hooks, so that policies and reapers of a site go on working.
 */
export function userObjects(input: DesiredInput): UserObjects {
  const { user, cluster, namespace, dockerConfig } = input;
  const { pullSecret, credentials, resourceQuota, limitRange, sshSessions } = cluster;
  const ownAccount = credentials.mode === 'service-account' ? credentials.name : undefined;
  return {
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
      networkPolicy(namespace, cluster.allowedCidrs),
      roleBinding(namespace, roleBindingNames.initializer(user.name), clusterRoles.initializer, [
        serviceAccountSubject(defaultServiceAccount, namespace),
      ]),
      roleBinding(namespace, roleBindingNames.user(user.name), clusterRoles.user, [
        ownAccount === undefined
          ? { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: input.subject }
          : serviceAccountSubject(ownAccount, namespace),
      ]),
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
      ...(pullSecret !== undefined && dockerConfig !== undefined
        ? pullSecretObjects(namespace, pullSecret.name, dockerConfig)
        : []),
      ...(ownAccount === undefined ? [] : [serviceAccount(namespace, ownAccount)]),
      ...(sshSessions === undefined ? [] : sessionObjects(namespace, user)),
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

/** Default deny between namespaces; the same namespace and the site's CIDRs may come in. */
function networkPolicy(
  namespace: string,
  allowedCidrs: readonly string[],
): KubeObject<'NetworkPolicy'> {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: networkPolicyName, namespace },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress'],
      ingress: [
        { from: [{ podSelector: {} }, ...allowedCidrs.map((cidr) => ({ ipBlock: { cidr } }))] },
      ],
    },
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

/** Who makes the user's pods for SSH, with rights to nothing but pods. */
function sessionObjects(namespace: string, user: User): KubeObject[] {
  return [
    { ...serviceAccount(namespace, sessionServiceAccount), automountServiceAccountToken: false },
    roleBinding(namespace, roleBindingNames.session(user.name), clusterRoles.session, [
      serviceAccountSubject(sessionServiceAccount, namespace),
    ]),
  ];
}

/**
 * The secret and its reference. Applying it also makes the account where the controller has not come
 * round to it yet; where it is there, its other references stay (`keepReferences`).
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

function limits(
  kind: 'ResourceQuota' | 'LimitRange',
  namespace: string,
  spec: JsonObject,
): KubeObject {
  const metadata = { name: limitsName, namespace };
  // `spec` is the site's: the API server checks it.
  return { apiVersion: 'v1', kind, metadata, spec } as unknown as KubeObject;
}
