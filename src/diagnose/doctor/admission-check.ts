import { type AdmissionSettings, siteAdmission } from '../../kube/admission/admission-settings.ts';
import {
  minorVersion,
  mutatingPolicySince,
  validatingPolicySince,
} from '../../kube/admission/policy-versions.ts';
import {
  probeIdentity,
  probeNamespace,
  unlistedImage,
} from '../../kube/admission/probe-namespace.ts';
import { failed, type Finding, ok, warning } from '../../system/errors/check-result.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { ApiClient, ApiResponse } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import type { KubeObject } from '../../kube/objects/kube-object.ts';
import { clusterRoles, lifetimeAnnotation } from '../../kube/objects/well-known-names.ts';
import { createRequest } from '../../kube/requests.ts';
import { canI } from '../../kube/required-rights.ts';

type Fields = Readonly<Record<string, unknown>>;

const context = {
  runAsUser: probeIdentity.uid,
  runAsGroup: probeIdentity.gid,
  runAsNonRoot: true,
  supplementalGroupsPolicy: 'Strict',
  seccompProfile: { type: 'RuntimeDefault' },
};

/** A pod that no site's policy refuses, except for the given fields. */
export function probePod(spec: Fields, container: Fields = {}, annotations: Fields = {}): Fields {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'berth-doctor',
      annotations: { [lifetimeAnnotation]: '1m', ...annotations },
    },
    spec: {
      securityContext: context,
      containers: [
        {
          name: 'main',
          image: 'registry.invalid/berth-doctor',
          resources: { limits: { cpu: '1m', memory: '1Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          ...container,
        },
      ],
      ...spec,
    },
  };
}

/** A Service that takes over the traffic for an external address. */
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'berth-doctor' },
  spec: { ports: [{ port: 2049 }], externalIPs: ['192.0.2.1'] },
};

const resources = ['pods', 'services'] as const;

interface Tried {
  readonly policy: string;
  readonly resource: (typeof resources)[number];
  readonly object: Fields;
}

/** Objects that the policies must refuse on every site. Images are not tested: a site may allow all. */
const hostile: readonly Tried[] = [
  ...[
    probePod({ securityContext: { ...context, runAsUser: 1 } }),
    probePod({ hostPID: true }),
    probePod({ volumes: [{ name: 'root', hostPath: { path: '/' } }] }),
    probePod({ nodeName: 'berth-doctor' }),
    probePod({}, {}, { [lifetimeAnnotation]: '99999h' }),
    probePod({}, {}, { 'berth-doctor.invalid/order': '' }),
  ].map((object) => ({ policy: 'pods', resource: 'pods' as const, object })),
  { policy: 'services', resource: 'services', object: service },
];

/**
 * Whether the cluster refuses pods with the UID of another user: server-side dry runs in the probe
 * namespace, which change nothing. A refusal counts only if its message names the policy.
 *
 * @param version of the cluster, as `v1.36.3`
 * @param settings prefix of the policies, if it is not the built-in one
 * @param networkEgress whether the users' pods may connect to some networks only
 */
export async function admissionFinding(
  client: ApiClient,
  version: string,
  settings: Pick<AdmissionSettings, 'prefix'> = siteAdmission(),
  networkEgress = false,
): Promise<Finding> {
  const namespace = probeNamespace(settings);
  const served = await servesDefaults(client);
  const option = served ? '' : ` --kubernetes 1.${withoutDefaults(version)}`;
  const install = `berth render policies${option} | kubectl apply -f -`;
  const next = `Read ${installedPath('share/docs/admission.md')} first: the policies refuse pods in namespaces of users who have not logged in since Berth was installed. Write what pods of OnDemand and of SSH sessions mount, such as homes, into \`host_paths\` of /etc/berth/admission.yml. Then, as an admin of the cluster: ${install}`;
  for (const resource of resources) {
    const right = { verb: 'create', group: '', resource, namespace } as const;
    if (!(await canI(client, right)))
      return (await namespaceStatus(client, namespace)) === 200
        ? warning(
            `admission cannot be tested: the account of this host may not create ${resource} in ${namespace}. An older version of Berth's policies, without this right, may be installed`,
            `On the host with the site's admission.yml, as an admin of the cluster: ${install}`,
          )
        : warning(missing(namespace), next);
  }
  const verdicts = await Promise.all(
    hostile.map(async (one) => {
      const policy = settings.prefix + one.policy;
      return { policy, verdict: await verdictOf(client, namespace, { ...one, policy }) };
    }),
  );
  // An admin may create pods in any namespace, so a missing one shows only here.
  if (verdicts.some(({ verdict }) => verdict === 'nowhere'))
    return warning(missing(namespace), next);
  const open = new Set(
    verdicts.filter(({ verdict }) => verdict === 'taken').map(({ policy }) => policy),
  );
  const unlisted = probePod({}, { image: unlistedImage });
  if (
    open.size === 0 &&
    networkEgress &&
    (await podRefusal(client, namespace, unlisted)) === undefined
  )
    return warning(
      'pods may have images of every registry, and an image’s name can carry data past network_egress: the node connects to the registry that a pod names',
      `Name the registries of your site in \`images\` of /etc/berth/admission.yml, then: \`${install}\`.`,
    );
  if (open.size === 0)
    return ok(
      `pods with the identity of another user are refused (${verdicts.length} cases tried)${served ? '' : `; Kubernetes ${version} has no MutatingAdmissionPolicy, so pods must set all fields themselves (${installedPath('share/docs/admission.md')})`}`,
    );
  return failed(
    `these policies are not enforced: ${[...open].join(', ')}`,
    `Install them again: \`${install}\`. Their bindings need validationActions: [Deny].`,
  );
}

function missing(namespace: string): string {
  return `Berth's admission policies are not installed (no namespace ${namespace}). Without policies, users can run pods with any UID, including root on the node`;
}

async function namespaceStatus(client: ApiClient, name: string): Promise<number> {
  return (await client.send({ method: 'GET', path: `/api/v1/namespaces/${name}` })).status;
}

/**
 * Why the cluster refuses a pod in the probe namespace: a server-side dry run, which changes nothing.
 *
 * @returns undefined if it is accepted
 */
export async function podRefusal(
  client: ApiClient,
  namespace: string,
  pod: object,
): Promise<string | undefined> {
  const { accepted, message, answer } = await tryObject(client, namespace, 'pods', pod);
  return accepted ? undefined : message || `status ${answer.status}`;
}

async function tryObject(
  client: ApiClient,
  namespace: string,
  resource: Tried['resource'],
  object: object,
) {
  const answer = await client.send({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/${resource}?dryRun=All`,
    contentType: 'application/json',
    body: JSON.stringify(object),
  });
  const message = messageIn(answer);
  // The quota of the probe namespace refuses what all policies accept.
  return { answer, message, accepted: answer.status === 201 || message.includes('exceeded quota') };
}

function messageIn({ body }: ApiResponse): string {
  return typeof body.message === 'string' ? body.message : '';
}

/** Whether the API server serves MutatingAdmissionPolicy. True where the hook may not ask. */
async function servesDefaults(client: ApiClient): Promise<boolean> {
  const answer = await client.send({
    method: 'GET',
    path: '/apis/admissionregistration.k8s.io/v1',
  });
  if (answer.status !== 200) return true;
  const { resources: kinds } = answer.body;
  return (
    Array.isArray(kinds) &&
    kinds.some((kind: { readonly name?: unknown }) => kind.name === 'mutatingadmissionpolicies')
  );
}

/** A minor version for which `berth render policies` leaves the defaults out. */
function withoutDefaults(version: string): number {
  return Math.min(minorVersion(version) ?? Infinity, mutatingPolicySince - 1);
}

/** The verdict on an object. A refusal counts only from this policy, of Kubernetes or of Kyverno. */
async function verdictOf(
  client: ApiClient,
  namespace: string,
  { policy, resource, object }: Tried,
): Promise<'refused' | 'taken' | 'nowhere'> {
  const { accepted, message, answer } = await tryObject(client, namespace, resource, object);
  if (message.includes(policy)) return 'refused';
  if (accepted) return 'taken';
  if (answer.status === 404) return 'nowhere';
  throw apiError(`trying an object that ${policy} must refuse`, answer);
}

/** The accounts that etc/kubernetes/guard/guard.yaml restricts. */
const guarded = ['berth-hook', 'berth-login'].map(
  (name) => `system:serviceaccount:ondemand:${name}`,
);

/** A write that the hook never does: a RoleBinding in a namespace that does not belong to a user. */
const forbidden: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'berth-doctor-ood-user', namespace: 'kube-system' },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: clusterRoles.user,
  },
  subjects: [{ kind: 'ServiceAccount', name: 'berth-doctor', namespace: 'kube-system' }],
};

/**
 * Whether the hook's token is kept from other namespaces: a server-side dry run of a forbidden write,
 * which changes nothing, must be refused. If it is accepted, the check fails for every account and version.
 */
export async function guardFinding(
  client: ApiClient,
  identity: string,
  version: string,
): Promise<Finding> {
  const answer = await client.send(createRequest(forbidden, { dryRun: true }));
  if (answer.status === 422 && messageIn(answer).includes('ValidatingAdmissionPolicy'))
    return ok('an admission policy refuses a write outside the namespaces of users');
  if (answer.status === 403)
    return ok('the account has no right to write outside the namespaces of users');
  if (answer.status !== 201) throw apiError('trying a forbidden write', answer);
  return failed(
    `the token of ${identity} can create RoleBindings in kube-system`,
    howToGuard(identity, minorVersion(version)),
  );
}

function howToGuard(identity: string, minor: number | undefined): string {
  const install = `kubectl apply -k ${installedPath('share/etc/kubernetes/guard')}`;
  if (minor !== undefined && minor < validatingPolicySince)
    return `Upgrade to Kubernetes 1.${validatingPolicySince} or later, which has ValidatingAdmissionPolicy; then: ${install}`;
  return guarded.includes(identity)
    ? install
    : `The guard restricts only ${guarded.join(' and ')}: use one of these accounts (berth token setup), or change the matchCondition in ${installedPath('share/etc/kubernetes/guard/guard.yaml')}; then: ${install}`;
}
