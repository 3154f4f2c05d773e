import {
  type AdmissionParameters,
  reservedResources,
} from '../../config/schema/admission-parameters.ts';
import { userVolumeLabel } from '../objects/well-known-names.ts';
import { annotationRules, annotationVariables, isOrder } from './annotation-rules.ts';
import {
  adminByName,
  allowedInKubeSystem,
  changedByUser,
  componentByName,
  componentVariables,
  newAnnotations,
  newSpec,
} from './cluster-components.ts';
import { claimedClasses, deviceClaimRules } from './device-rules.ts';
import {
  celList,
  celString,
  type MatchedRequests,
  podRule,
  type Policy,
  type Rule,
  type Variable,
} from './policy-types.ts';
import { mayStamp } from './namespace-rules.ts';
import { claimRules, isClaimOrder } from './volume-rules.ts';

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

const newVolume =
  'object.spec.?volumeName != oldObject.spec.?volumeName || object.spec.?volumeAttributesClassName != oldObject.spec.?volumeAttributesClassName';

const mark = (object: string): string => `${object}.metadata.?labels[?'${userVolumeLabel}']`;
const newMark = `${mark('object')} != ${mark('oldObject')}`;

/** With the label of the hook's own claims, a user would keep the namespace from the reaper. */
const markRule: Rule = {
  holds: `request.operation == 'CREATE' ? !${mark('object')}.hasValue() : !(${newMark})`,
  when: { applies: '!variables.mayStamp', mayApply: 'true' },
  message: celString(`metadata.labels ${userVolumeLabel} may only be changed by the login hook`),
};

/**
 * Binding a claim to a volume is left to those who may create volumes: the controller and admins. Other controllers make
 * claims for users, from StatefulSets for instance: by name, Kyverno knows none that does not.
 */
const newClaim: readonly Variable[] = [
  {
    name: 'claims-anew',
    expression: `request.operation == 'CREATE' || ${newVolume} || ${newAnnotations} || ${newMark}`,
  },
  {
    name: 'by-a-user',
    expression: "!authorizer.group('').resource('persistentvolumes').check('update').allowed()",
    byName: `request.operation == 'CREATE' && !${adminByName} || !(${componentByName})`,
  },
  {
    name: 'no-note-of-a-component',
    expression: `request.operation == 'CREATE' || ${newVolume} || !${allowedInKubeSystem("group('').resource('persistentvolumeclaims')", 'update')}`,
    byName: 'true',
  },
];

/** The controller and the scheduler make claims for users, too: from templates, and for extended resources of a class. */
const claimedByUser: Variable = {
  name: 'by-a-user',
  expression:
    "!authorizer.group('resource.k8s.io').resource('deviceclasses').check('update').allowed()",
  byName: `!${adminByName}`,
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
      variables: [writtenSpecs, ...annotationVariables('pod', isOrder(parameters))],
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
        'A PersistentVolumeClaim gets a new volume of an allowed StorageClass, not an existing volume, and no annotation configures its provisioner. Only the login hook makes claims that keep a namespace.',
      matched: [
        {
          apiGroups: [''],
          resources: ['persistentvolumeclaims'],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
      ofUsers: true,
      conditions: newClaim,
      variables: [
        ...annotationVariables('pod', isClaimOrder(parameters)),
        mayStamp(parameters.stampers),
      ],
      rules: [...claimRules(parameters), ...annotationRules(), markRule],
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

/** All requests that write a reserved resource, but for those that the site leaves to its users. */
function reservedRequests({ writableResources }: AdmissionParameters): MatchedRequests[] {
  const reserved = reservedResources.filter((one) => !writableResources.includes(one));
  const byGroup = Map.groupBy(reserved, (one) => one.split('.').slice(1).join('.'));
  return [...byGroup].map(([group, names]) => ({
    apiGroups: [group],
    // The Gateway API's routes have no v1 yet.
    apiVersions: ['*'],
    // Whoever writes the status of a quota sets the limits that count until its controller looks again.
    resources: names.flatMap((one) =>
      one === 'resourcequotas' ? [one, `${one}/status`] : one.split('.', 1),
    ),
    operations: ['CREATE', 'UPDATE', 'DELETE'],
  }));
}

/** Needs `component`. */
const reservedRules: readonly Rule[] = [
  {
    holds: 'variables.component',
    message:
      "'only components of the cluster and admins may write ' + request.resource.resource + ' in the namespace of a user'",
  },
];

/**
 * The API server assigns addresses and node ports before policies are evaluated: that the request chose them is only in
 * `managedFields`. It has none at all if it could not compute them.
 */
const writtenSpecs: Variable = {
  name: 'written',
  expression:
    "object.metadata.?managedFields.orValue([]).map(m, m.?fieldsV1[?'f:spec'].orValue({}))",
};

const clusterIps = (object: string): string =>
  `([${object}.spec.?clusterIP.orValue('')] + ${object}.spec.?clusterIPs.orValue([]))`;
const nodePorts = (object: string): string =>
  `([${object}.spec.?healthCheckNodePort.orValue(0)] + ${object}.spec.?ports.orValue([]).map(p, p.?nodePort.orValue(0)))`;

/** @param chosen CEL about the fields `f` of a spec that somebody wrote */
function assigned(
  field: string,
  none: string,
  values: (object: string) => string,
  chosen: string,
): Rule {
  const old = `request.operation == 'UPDATE' && a in ${values('oldObject')}`;
  return podRule(
    field,
    `${values('object')}.all(a, a in [${none}] || ${old}) || size(variables.written) > 0 && !variables.written.exists(f, ${chosen})`,
    `' must be absent: the cluster assigns it'`,
  );
}

/** Services receive traffic only at addresses that the cluster assigned (CVE-2020-8554). */
function serviceRules({ loadBalancerClasses }: AdmissionParameters): Rule[] {
  const type = "object.spec.?type.orValue('ClusterIP')";
  const ofClass = `object.spec.?loadBalancerClass.orValue('default') in ${celList(loadBalancerClasses)}`;
  const balanced =
    loadBalancerClasses.length === 0
      ? ''
      : `, or LoadBalancer with one of these loadBalancerClass values: ${loadBalancerClasses.join(', ')}`;
  return [
    podRule(
      'type',
      `${type} in ['ClusterIP', 'NodePort'] || ${type} == 'LoadBalancer' && ${ofClass}`,
      celString(` must be ClusterIP or NodePort${balanced}`),
    ),
    assigned('clusterIP', "'', 'None'", clusterIps, "'f:clusterIP' in f || 'f:clusterIPs' in f"),
    assigned(
      'ports.nodePort',
      '0',
      nodePorts,
      "'f:healthCheckNodePort' in f || f[?'f:ports'].orValue({}).exists(k, 'f:nodePort' in f['f:ports'][k])",
    ),
    podRule('externalIPs', 'size(object.spec.?externalIPs.orValue([])) == 0', `' must be absent'`),
    podRule(
      'loadBalancerIP',
      "object.spec.?loadBalancerIP.orValue('') == ''",
      `' must be absent: the load balancer assigns the address'`,
    ),
  ];
}

/** With endpoints a Service could forward to any address, as another user's pod or a file server, despite NetworkPolicies. */
const endpointsRules: readonly Rule[] = [
  {
    holds: 'variables.component',
    message: celString(
      'only components of the cluster may write the endpoints and status of a Service',
    ),
  },
];
