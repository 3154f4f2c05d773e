import type { AdmissionParameters } from '../config/admission-parameters.ts';
import { annotationRules, annotationVariables } from './annotation-rules.ts';
import { changedByUser, newAnnotations, newSpec } from './change-conditions.ts';
import { allowedInKubeSystem, componentByName, componentVariables } from './cluster-components.ts';
import { claimedClasses, deviceClaimRules } from './device-rules.ts';
import type { MatchedRequests, Policy, Variable } from './policy-types.ts';
import { claimRules } from './pvc-rules.ts';
import { reservedRequests, reservedRules } from './reserved-rules.ts';
import { endpointsRules, serviceRules, writtenSpecs } from './service-rules.ts';

const routes: readonly MatchedRequests[] = [
  {
    apiGroups: [''],
    resources: ['endpoints', 'services/status', 'pods/status'],
    operations: ['CREATE', 'UPDATE'],
  },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    operations: ['CREATE', 'UPDATE'],
  },
];

/** The addresses of a pod become those of its Services. */
const newAddresses: Variable = {
  name: 'addresses-are-new',
  expression:
    "object.kind != 'Pod' || object.?status.?podIPs != oldObject.?status.?podIPs || object.?status.?podIP != oldObject.?status.?podIP",
};

const newService = changedByUser(`${newAnnotations} || object.spec != oldObject.spec`, [
  "group('').resource('services')",
]);

/** Binding a claim to a volume is left to those who may create volumes: the controller and admins. */
const newClaim: readonly Variable[] = [
  {
    name: 'claims-anew',
    expression:
      "request.operation == 'CREATE' || object.spec.?volumeName != oldObject.spec.?volumeName || object.spec.?volumeAttributesClassName != oldObject.spec.?volumeAttributesClassName",
  },
  {
    name: 'by-a-user',
    expression: "!authorizer.group('').resource('persistentvolumes').check('update').allowed()",
    byName: `!(${componentByName})`,
  },
];

/** Controllers and the scheduler make claims for pods and from templates that have been checked. */
const claimedByUser: Variable = {
  name: 'by-a-user',
  expression: `!${allowedInKubeSystem("group('resource.k8s.io').resource('resourceclaims')", 'create')}`,
  byName: `!(${componentByName})`,
};

/** The policies for what else users write in their namespaces besides pods. */
export function objectPolicies(parameters: AdmissionParameters): Policy[] {
  return [
    {
      name: 'services',
      about: 'A Service receives traffic only for addresses that the cluster assigned.',
      matched: [{ apiGroups: [''], resources: ['services'], operations: ['CREATE', 'UPDATE'] }],
      ofUsers: true,
      conditions: [newService],
      variables: [writtenSpecs, ...annotationVariables('pod', parameters)],
      rules: [...serviceRules(parameters), ...annotationRules()],
    },
    {
      name: 'service-endpoints',
      about: 'Only components of the cluster write the endpoints and addresses of a Service.',
      matched: routes,
      ofUsers: true,
      conditions: [newAddresses],
      variables: componentVariables,
      rules: endpointsRules,
    },
    {
      name: 'reserved',
      about:
        'Only components of the cluster and its admins grant access or change the limits of a user.',
      matched: reservedRequests(parameters),
      ofUsers: true,
      conditions: [],
      variables: componentVariables,
      rules: reservedRules,
    },
    {
      name: 'claims',
      about:
        'A PersistentVolumeClaim gets a new volume of an allowed StorageClass, not an existing volume.',
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
      name: 'device-claims',
      about:
        'Users claim devices of allowed DeviceClasses only, and never with the access of an admin.',
      matched: [
        {
          apiGroups: ['resource.k8s.io'],
          // Before 1.34 there is no v1.
          apiVersions: ['*'],
          resources: ['resourceclaims', 'resourceclaimtemplates'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
      ofUsers: true,
      conditions: [newSpec, claimedByUser],
      variables: [claimedClasses],
      rules: deviceClaimRules(parameters),
    },
    {
      name: 'account-tokens',
      about: 'No Secret contains a ServiceAccount token that never expires.',
      matched: [{ apiGroups: [''], resources: ['secrets'], operations: ['CREATE', 'UPDATE'] }],
      ofUsers: true,
      conditions: [],
      variables: [],
      rules: [
        {
          holds: "object.?type.orValue('') != 'kubernetes.io/service-account-token'",
          message:
            "'type must not be kubernetes.io/service-account-token: such a token never expires'",
        },
      ],
    },
  ];
}
