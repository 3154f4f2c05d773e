import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { lifetimeAnnotation } from '../objects/well-known-names.ts';
import type { AdmissionSettings } from './admission-settings.ts';
import { annotationRules, annotationVariables, isOrder } from './annotation-rules.ts';
import { specVariables } from './cel-variables.ts';
import {
  allowedInKubeSystem,
  changedByUser,
  newAnnotations,
  newSpec,
} from './cluster-components.ts';
import { deviceRules } from './device-rules.ts';
import { identityRules, identityVariables } from './identity-rules.ts';
import { imageRules, imageVariables } from './image-rules.ts';
import {
  deletionRules,
  deletions,
  deletionVariables,
  graceRules,
  lifetimeRules,
  lifetimeVariables,
  templateLifetimeRules,
} from './lifetime-rules.ts';
import { namespaceRules, namespaceVariables } from './namespace-rules.ts';
import { objectPolicies } from './object-policies.ts';
import { placementRules, placementVariables } from './placement-rules.ts';
import {
  celString,
  containerRule,
  type MatchedRequests,
  type Policy,
  type Rule,
  type Variable,
  type When,
} from './policy-types.ts';
import { privilegeRules } from './privilege-rules.ts';
import { probeNamespace, unlistedImage } from './probe-namespace.ts';
import {
  claimTemplateRules,
  claimTemplates,
  volumeRules,
  volumeVariables,
} from './volume-rules.ts';

/** All requests that write a pod's spec or its annotations, which includes its status. */
const pods: readonly MatchedRequests[] = [
  {
    apiGroups: [''],
    resources: ['pods', 'pods/status', 'pods/ephemeralcontainers', 'pods/resize'],
    operations: ['CREATE', 'UPDATE'],
  },
];

/**
 * Workloads, of which controllers make pods. The pods are checked in any case; here the author sees the
 * refusal, not only the controller's events.
 */
const templates: readonly MatchedRequests[] = [
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

const metadataDiffers = `${newAnnotations} || object.spec.?activeDeadlineSeconds != oldObject.spec.?activeDeadlineSeconds`;
const podChangers = [
  "group('').resource('pods')",
  "group('').resource('pods').subresource('status')",
];

/** What of a pod a request changes: rules about the rest do not apply. */
const podChanges: readonly Variable[] = [
  { ...newSpec, name: 'newSpec' },
  { ...changedByUser(metadataDiffers, podChangers), name: 'newMetadata' },
];

/** An update of something else, whose pod may be older than the policies. */
const changedPod = changedByUser(metadataDiffers, podChangers, 'object.spec != oldObject.spec');

const ofNewSpec: When = { applies: 'variables.newSpec', mayApply: 'variables.newSpec' };
const ofNewMetadata: When = {
  applies: 'variables.newMetadata',
  mayApply: `(request.operation == 'CREATE' || ${metadataDiffers})`,
};

const bindingVariables: readonly Variable[] = [
  {
    name: 'schedules',
    expression: allowedInKubeSystem("group('').resource('pods').subresource('binding')", 'create'),
    byName: "request.userInfo.username == 'system:kube-scheduler'",
  },
];

/**
 * All validating policies. One policy covers a pod's spec and its metadata, since the API server converts the pod several
 * times for each policy and evaluates the messages of all rules, which costs more than the rules.
 */
export function admissionPolicies(settings: AdmissionSettings): Policy[] {
  const { label, parameters, within, nothingFilledIn = false } = settings;
  const pod = specVariables('pod');
  const advice = nothingFilledIn ? { advice: missingFieldsMessage(parameters) } : {};
  // A field that no defaults fill in later must be in the template.
  const template = nothingFilledIn ? 'pod' : 'template';
  const policies: Policy[] = [
    {
      name: 'pods',
      about:
        'Pods run with the UID, GID and groups in the annotations that the login hook wrote to the namespace, and have only the access to the host that the site allows. Every pod has a lifetime, and no annotation configures the runtime.',
      matched: pods,
      ofUsers: true,
      conditions: [changedPod],
      variables: [
        ...podChanges,
        ...pod,
        ...identityVariables,
        ...volumeVariables(parameters),
        ...imageVariables(parameters),
        ...placementVariables(parameters),
        ...lifetimeVariables,
        ...annotationVariables('pod', isOrder(parameters)),
      ],
      rules: [
        ...[
          ...identityRules('pod', parameters),
          ...privilegeRules('pod', parameters),
          ...volumeRules(parameters),
          ...resourceRules(),
          ...deviceRules(parameters),
          ...graceRules(parameters),
          ...placementRules('pod', parameters),
          // No pod runs in the namespace of `berth doctor`.
          ...imageRules(parameters).map(({ holds, message }) => ({
            holds: `request.namespace == ${celString(probeNamespace(settings))} && !variables.containers.exists(c, c.?image.orValue('') == ${celString(unlistedImage)}) || ${holds}`,
            message,
          })),
        ].map((rule) => ({ ...rule, when: ofNewSpec })),
        ...[...lifetimeRules(parameters), ...annotationRules()].map((rule) => ({
          ...rule,
          when: ofNewMetadata,
        })),
      ],
      ...advice,
    },
    {
      name: 'pod-binding',
      about: 'Only a scheduler chooses the node of a pod.',
      matched: [
        { apiGroups: [''], resources: ['bindings', 'pods/binding'], operations: ['CREATE'] },
      ],
      ofUsers: true,
      conditions: [],
      variables: bindingVariables,
      rules: [
        { holds: 'variables.schedules', message: "'target may only be set by the scheduler'" },
      ],
    },
    {
      name: 'pod-deletion',
      about: 'Limits the grace period of a deleted pod.',
      matched: deletions,
      ofUsers: true,
      conditions: [],
      variables: deletionVariables,
      rules: deletionRules(parameters),
    },
    {
      name: 'pod-templates',
      about: 'Refuses workloads whose pods would be refused, so that their author sees it.',
      matched: templates,
      ofUsers: true,
      conditions: [newSpec],
      variables: [
        ...specVariables('template'),
        ...identityVariables,
        ...volumeVariables(parameters),
        ...imageVariables(parameters),
        ...placementVariables(parameters),
        ...annotationVariables('template', isOrder(parameters)),
        claimTemplates,
      ],
      rules: [
        ...identityRules(template, parameters),
        ...privilegeRules(template, parameters),
        ...volumeRules(parameters),
        ...imageRules(parameters),
        ...deviceRules(parameters),
        ...graceRules(parameters),
        ...placementRules('template', parameters),
        ...annotationRules(),
        ...claimTemplateRules(parameters),
        ...(nothingFilledIn ? templateLifetimeRules(parameters) : []),
      ],
      ...advice,
    },
    ...objectPolicies(parameters),
    {
      name: 'namespace-identity',
      about: 'Only the login hook and cluster admins change the owner and identity of a namespace.',
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
          : [
              {
                name: 'within',
                expression: `object.metadata.name.startsWith(${celString(within)})`,
              },
            ],
      variables: namespaceVariables(label, parameters.stampers),
      rules: namespaceRules(),
    },
  ];
  // With every resource writable, nothing is reserved.
  return policies.filter(({ matched }) => matched.length > 0);
}

/** Every container, or the pod, has requests and limits. */
function resourceRules(): Rule[] {
  return ['requests', 'limits'].flatMap((kind) =>
    ['cpu', 'memory'].map((name) =>
      // Ephemeral containers have no resources.
      containerRule(
        `resources.${kind}.${name}`,
        `!variables.spec.?resources.?${kind}.?${name}.hasValue() && !c.?resources.?${kind}.?${name}.hasValue() && !variables.spec.?ephemeralContainers.orValue([]).exists(e, e.name == c.name)`,
        `' must be present'`,
      ),
    ),
  );
}

/**
 * CEL, a string: all fields that a pod must set if none are filled in, so that its author gets them in one
 * message. Empty if the pod sets `runAsUser`: then a single field is missing.
 */
function missingFieldsMessage({ supplementalGroupsPolicy }: AdmissionParameters): string {
  const context = [
    `${celString('runAsUser: ')} + string(variables.uid)`,
    `${celString(', runAsGroup: ')} + string(variables.gid)`,
    `${celString(', runAsNonRoot: true, supplementalGroups: [')} + variables.groups.map(g, string(g)).join(', ') + ']'`,
    celString(supplementalGroupsPolicy === 'Strict' ? ', supplementalGroupsPolicy: Strict' : ''),
    celString(', seccompProfile: {type: RuntimeDefault}'),
  ].join(' + ');
  const rest = [
    '} for the pod, securityContext {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}',
    'and resources (requests and limits of cpu and memory) for each container, and the annotation',
    lifetimeAnnotation,
  ].join(' ');
  const known = 'variables.uid > 0 && variables.gid > 0';
  const silent = '!variables.spec.?securityContext.?runAsUser.hasValue()';
  const start = '. This cluster sets no defaults. Set securityContext {';
  return `(${known} && ${silent} ? ${celString(start)} + ${context} + ${celString(rest)} : '')`;
}
