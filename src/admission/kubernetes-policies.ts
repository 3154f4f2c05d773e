import type { AdmissionSettings } from './admission-settings.ts';
import type { Manifest } from './manifest.ts';
import { type Defaults, debugDefaults, podDefaults } from './pod-defaults.ts';
import { admissionPolicies } from './validating-policies.ts';
import { joinedExpression, joinedMessage } from './join-rules.ts';
import { type MatchedRequests, type Policy, celString, type Variable } from './policy-types.ts';

const api = 'admissionregistration.k8s.io/v1';

/** The end of every message: whom to ask. */
export function contactText({ parameters }: AdmissionSettings): string {
  return celString(`. Ask ${parameters.contact}.`);
}

/**
 * The policies as Kubernetes objects, each with its binding: ValidatingAdmissionPolicy (1.30) and, if the
 * cluster has it, MutatingAdmissionPolicy (1.36).
 */
export function kubernetesPolicies(settings: AdmissionSettings): Manifest[] {
  const defaults =
    settings.nothingFilledIn === true ? [] : [podDefaults(settings.parameters), debugDefaults()];
  return [
    ...defaults.flatMap((each) => mutating(each, settings)),
    ...admissionPolicies(settings).flatMap((policy) => validating(policy, settings)),
  ];
}

function validating(policy: Policy, settings: AdmissionSettings): Manifest[] {
  const name = settings.prefix + policy.name;
  return [
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name, annotations: { 'kubernetes.io/description': policy.about } },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: constraints(policy, settings),
        ...(policy.conditions.length === 0 ? {} : { matchConditions: plain(policy.conditions) }),
        variables: plain(policy.variables),
        validations: [
          {
            expression: joinedExpression(policy.rules),
            messageExpression: `${joinedMessage(policy.rules)}${policy.advice === undefined ? '' : ` + ${policy.advice}`} + ${contactText(settings)}`,
            reason: 'Forbidden',
          },
        ],
      },
    },
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}

function mutating(defaults: Defaults, settings: AdmissionSettings): Manifest[] {
  const name = settings.prefix + defaults.name;
  return [
    {
      apiVersion: api,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name, annotations: { 'kubernetes.io/description': defaults.about } },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: constraints({ ...defaults, ofUsers: true }, settings),
        variables: plain(defaults.variables),
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: defaults.patch } }],
      },
    },
    {
      apiVersion: api,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    },
  ];
}

/** `matchConstraints`, the same for both engines. */
export function constraints(
  { matched, ofUsers }: { readonly matched: readonly MatchedRequests[]; readonly ofUsers: boolean },
  { label }: AdmissionSettings,
): object {
  return {
    ...(ofUsers ? { namespaceSelector: { matchLabels: { [label.key]: label.value } } } : {}),
    resourceRules: matched.map(({ apiGroups, apiVersions = ['v1'], resources, operations }) => ({
      apiGroups,
      apiVersions,
      operations,
      resources,
    })),
  };
}

function plain(variables: readonly Variable[]): object[] {
  return variables.map(({ name, expression }) => ({ name, expression }));
}
