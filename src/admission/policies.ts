import type { AdmissionSettings } from './admission-settings.ts';
import { annotationRules, annotationVariables } from './annotation-rules.ts';
import { claimRules } from './claim-rules.ts';
import { componentByName, mayInSystem } from './component.ts';
import { deletionRules, deletions, deletionVariables, graceRules } from './grace-rules.ts';
import { identityRules, identityVariables } from './identity.ts';
import { imageRules, imageVariables } from './image-rules.ts';
import { lifetimeRules, lifetimeVariables, templateLifetimeRules } from './lifetime-rules.ts';
import { namespaceRules, namespaceVariables } from './namespace-rules.ts';
import { placementRules, placementVariables } from './placement-rules.ts';
import { identity, specVariables } from './pod-variables.ts';
import { type Matched, type Policy, quoted, type Variable } from './policy.ts';
import { privilegeRules } from './privilege.ts';
import { probeNamespace } from './probe.ts';
import { resourceRules } from './resource-rules.ts';
import { routesRules, routesVariables, serviceRules } from './service-rules.ts';
import { volumeRules, volumeVariables } from './volume-rules.ts';
import { writeAll } from './write-all.ts';

/** Every way to write what a pod runs. */
const podSpecs: readonly Matched[] = [
  {
    apiGroups: [''],
    resources: ['pods', 'pods/ephemeralcontainers', 'pods/resize'],
    operations: ['CREATE', 'UPDATE'],
  },
];

/** Every way to write a pod's annotations: who may write a pod's status may write them, too. */
const podMetadata: readonly Matched[] = [
  {
    apiGroups: [''],
    resources: ['pods', 'pods/status', 'pods/ephemeralcontainers', 'pods/resize'],
    operations: ['CREATE', 'UPDATE'],
  },
];

/**
 * What controllers make pods of. Their pods are held by the policies of pods in any case; here the
 * refusal reaches the author, not only the controller's events.
 */
const templates: readonly Matched[] = [
  {
    apiGroups: ['apps'],
    resources: ['deployments', 'replicasets', 'statefulsets', 'daemonsets'],
    operations: ['CREATE', 'UPDATE'],
  },
  { apiGroups: ['batch'], resources: ['jobs', 'cronjobs'], operations: ['CREATE', 'UPDATE'] },
  {
    apiGroups: [''],
    resources: ['replicationcontrollers', 'podtemplates'],
    operations: ['CREATE', 'UPDATE'],
  },
];

const routes: readonly Matched[] = [
  {
    apiGroups: [''],
    resources: ['endpoints', 'services/status'],
    operations: ['CREATE', 'UPDATE'],
  },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    operations: ['CREATE', 'UPDATE'],
  },
];

/** A pod from before the policies goes on: its labels and finalizers change, what it runs does not. */
const newSpec: Variable = {
  name: 'spec-is-new',
  expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
};

const newAnnotations = 'object.metadata.?annotations != oldObject.metadata.?annotations';

/**
 * What is new is looked at: not the status, which the kubelet changes all the time, and not what parts of
 * the cluster change. A network's plugin writes its addresses into the annotations of pods that run.
 */
function changed(what: string, changers: readonly string[]): Variable {
  const condition = (component: string): string =>
    `request.operation == 'CREATE' || (${what}) && !(${component})`;
  return {
    name: 'changed-by-a-user',
    expression: condition(changers.map((resource) => mayInSystem(resource, 'patch')).join(' || ')),
    byName: condition(componentByName),
  };
}

const newMetadata = changed(
  `${newAnnotations} || object.spec.?activeDeadlineSeconds != oldObject.spec.?activeDeadlineSeconds`,
  ["group('').resource('pods')", "group('').resource('pods').subresource('status')"],
);

const newService = changed(`${newAnnotations} || object.spec != oldObject.spec`, [
  "group('').resource('services')",
]);

/** Which volume a claim is bound to says who may make volumes: the controller, and admins. */
const newClaim: readonly Variable[] = [
  {
    name: 'claims-anew',
    expression:
      "request.operation == 'CREATE' || object.spec.?volumeName != oldObject.spec.?volumeName",
  },
  {
    name: 'by-a-user',
    expression: "!authorizer.group('').resource('persistentvolumes').check('update').allowed()",
    byName: `!(${componentByName})`,
  },
];

const bindingVariables: readonly Variable[] = [
  {
    name: 'schedules',
    expression: mayInSystem("group('').resource('pods').subresource('binding')", 'create'),
    byName: "request.userInfo.username == 'system:kube-scheduler'",
  },
];

/**
 * All policies that refuse. What holds a pod's spec is one of them, and what holds its metadata another:
 * the API server converts the pod anew for each policy, and evaluates the messages of all rules, which
 * costs more than the rules do.
 */
export function admissionPolicies(settings: AdmissionSettings): Policy[] {
  const { label, parameters, within, nothingFilledIn = false } = settings;
  const pod = specVariables('pod');
  const advice = nothingFilledIn ? { advice: writeAll(parameters) } : {};
  // What no defaults fill in later is missing in the template already.
  const template = nothingFilledIn ? 'pod' : 'template';
  return [
    {
      name: 'pod-spec',
      about:
        'Pods run with the UID, GID and groups that the login hook stamped on the namespace, and have nothing more of the host than the site allows.',
      matched: podSpecs,
      ofUsers: true,
      conditions: [newSpec],
      variables: [
        ...pod,
        ...identityVariables,
        ...volumeVariables(parameters),
        ...imageVariables(parameters),
        ...placementVariables(parameters),
      ],
      rules: [
        ...identityRules('pod', parameters),
        ...privilegeRules('pod'),
        ...volumeRules(parameters),
        ...resourceRules(),
        ...graceRules(parameters),
        ...placementRules('pod', parameters),
        // Doctor does not know which images a site allows, and in its namespace nothing runs.
        ...imageRules(parameters).map(({ holds, message }) => ({
          holds: `request.namespace == ${quoted(probeNamespace(settings))} || ${holds}`,
          message,
        })),
      ],
      ...advice,
    },
    {
      name: 'pod-metadata',
      about: 'A pod says when it is over, and no annotation gives orders to the runtime.',
      matched: podMetadata,
      ofUsers: true,
      conditions: [newMetadata],
      variables: [
        ...pod,
        ...(nothingFilledIn ? identity : []),
        ...lifetimeVariables,
        ...annotationVariables('pod', parameters),
      ],
      rules: [...lifetimeRules(parameters), ...annotationRules()],
      // Which policy is the first to be asked is not ours to say.
      ...advice,
    },
    {
      name: 'pod-binding',
      about: 'Only a scheduler says on which node a pod runs.',
      matched: [
        { apiGroups: [''], resources: ['bindings', 'pods/binding'], operations: ['CREATE'] },
      ],
      ofUsers: true,
      conditions: [],
      variables: bindingVariables,
      rules: [
        { holds: 'variables.schedules', message: "'target must be chosen by the scheduler'" },
      ],
    },
    {
      name: 'pod-deletion',
      about: 'A pod that is deleted ends soon.',
      matched: deletions,
      ofUsers: true,
      conditions: [],
      variables: deletionVariables,
      rules: deletionRules(parameters),
    },
    {
      name: 'pod-templates',
      about:
        'Workloads whose pods would be refused are refused themselves, where their author sees it.',
      matched: templates,
      ofUsers: true,
      conditions: [newSpec],
      variables: [
        ...specVariables('template'),
        ...identityVariables,
        ...volumeVariables(parameters),
        ...imageVariables(parameters),
        ...placementVariables(parameters),
        ...annotationVariables('template', parameters),
      ],
      rules: [
        ...identityRules(template, parameters),
        ...privilegeRules(template),
        ...volumeRules(parameters),
        ...imageRules(parameters),
        ...graceRules(parameters),
        ...placementRules('template', parameters),
        ...annotationRules(),
        ...(nothingFilledIn ? templateLifetimeRules(parameters) : []),
      ],
      ...advice,
    },
    {
      name: 'services',
      about: 'A Service takes no traffic but that of its own addresses, which the cluster gives.',
      matched: [{ apiGroups: [''], resources: ['services'], operations: ['CREATE', 'UPDATE'] }],
      ofUsers: true,
      conditions: [newService],
      variables: [...annotationVariables('pod', parameters)],
      rules: [...serviceRules(parameters), ...annotationRules()],
    },
    {
      name: 'service-endpoints',
      about:
        'Only parts of the cluster say to which pods and from which addresses a Service leads.',
      matched: routes,
      ofUsers: true,
      conditions: [],
      variables: routesVariables,
      rules: routesRules,
    },
    {
      name: 'claims',
      about:
        'A claim is given a new volume of a class that the site allows, and none that is there.',
      matched: [
        {
          apiGroups: [''],
          resources: ['persistentvolumeclaims'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
      ofUsers: true,
      conditions: newClaim,
      variables: [],
      rules: claimRules(parameters),
    },
    {
      name: 'account-tokens',
      about: 'Tokens of accounts end: none is kept in a Secret.',
      matched: [{ apiGroups: [''], resources: ['secrets'], operations: ['CREATE', 'UPDATE'] }],
      ofUsers: true,
      conditions: [],
      variables: [],
      rules: [
        {
          holds: "object.?type.orValue('') != 'kubernetes.io/service-account-token'",
          message:
            "'type must not be kubernetes.io/service-account-token: such a token never ends'",
        },
      ],
    },
    {
      name: 'namespace-identity',
      about: 'Only the login hook and cluster admins say whose a namespace is.',
      matched: [
        {
          apiGroups: [''],
          resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
      ofUsers: false,
      conditions:
        within === undefined
          ? []
          : [{ name: 'within', expression: `object.metadata.name.startsWith(${quoted(within)})` }],
      variables: namespaceVariables(label, parameters.stampers),
      rules: namespaceRules(),
    },
  ];
}
