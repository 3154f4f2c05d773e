import type { AdmissionSettings } from './admission-settings.ts';
import { probeNamespace } from './probe.ts';
import { annotationRules, annotationVariables } from './annotation-rules.ts';
import { identityRules, identityVariables } from './identity.ts';
import { imageRules, imageVariables } from './image-rules.ts';
import { lifetimeRules, lifetimeVariables } from './lifetime-rules.ts';
import { namespaceRules, namespaceVariables } from './namespace-rules.ts';
import { placementRules, placementVariables } from './placement-rules.ts';
import { containers, specVariables, volumes } from './pod-variables.ts';
import { type Matched, type Policy, quoted, type Variable } from './policy.ts';
import { privilegeRules } from './privilege.ts';
import { resourceRules } from './resource-rules.ts';
import { volumeRules, volumeVariables } from './volume-rules.ts';

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

/** A pod from before the policies goes on: its labels and finalizers change, what it runs does not. */
const newSpec: Variable = {
  name: 'spec-is-new',
  expression: "request.operation == 'CREATE' || object.spec != oldObject.spec",
};

const bindingVariables: readonly Variable[] = [
  {
    name: 'schedules',
    expression:
      "authorizer.group('').resource('pods').subresource('binding').namespace('kube-system').check('create').allowed()",
    byName: "request.userInfo.username == 'system:kube-scheduler'",
  },
];

/** All policies that refuse; each stands alone, so that a site can leave one out. */
export function admissionPolicies(settings: AdmissionSettings): Policy[] {
  const { label, parameters, within } = settings;
  const pod = specVariables('pod');
  const ofSpec = { matched: podSpecs, ofUsers: true, conditions: [newSpec] };
  const ofMetadata = { matched: podMetadata, ofUsers: true, conditions: [] };
  return [
    {
      ...ofSpec,
      name: 'pod-identity',
      about: 'Pods run with the UID, GID and groups that the login hook stamped on the namespace.',
      variables: [...pod, ...identityVariables],
      rules: identityRules('pod', parameters),
    },
    {
      ...ofSpec,
      name: 'pod-privilege',
      about: 'Pods have nothing of the host and no way to more rights than their user.',
      variables: [...pod, containers],
      rules: privilegeRules('pod'),
    },
    {
      ...ofSpec,
      name: 'pod-volumes',
      about: 'Volumes reach hosts and file servers only as the site allows.',
      variables: [...pod, containers, ...volumeVariables(parameters)],
      rules: volumeRules(parameters),
    },
    {
      ...ofSpec,
      name: 'pod-images',
      // Doctor does not know which images a site allows, and nothing runs there.
      conditions: [
        newSpec,
        {
          name: 'not-the-probe',
          expression: `request.namespace != ${quoted(probeNamespace(settings))}`,
        },
      ],
      about: 'Images come from the registries that the site allows.',
      variables: [...pod, containers, volumes, ...imageVariables(parameters)],
      rules: imageRules(parameters),
    },
    {
      ...ofSpec,
      name: 'pod-resources',
      about: 'Every container has requests and limits.',
      variables: [...pod, containers],
      rules: resourceRules(),
    },
    {
      ...ofSpec,
      name: 'pod-placement',
      about: 'Node, account, tolerations, priority and runtime class are as the site allows.',
      variables: [...pod, ...placementVariables(parameters)],
      rules: placementRules('pod', parameters),
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
      ...ofMetadata,
      name: 'pod-lifetime',
      about: 'A pod says when it is over, within the limit of the site.',
      variables: [...pod, ...lifetimeVariables],
      rules: lifetimeRules(parameters),
    },
    {
      ...ofMetadata,
      name: 'pod-annotations',
      about: 'No annotation gives orders to the runtime.',
      variables: annotationVariables,
      rules: annotationRules(),
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
      ],
      rules: [
        ...identityRules('template', parameters),
        ...privilegeRules('template'),
        ...volumeRules(parameters),
        ...imageRules(parameters),
        ...placementRules('template', parameters),
      ],
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
