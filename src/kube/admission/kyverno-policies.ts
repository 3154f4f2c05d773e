import type { AdmissionSettings } from './admission-settings.ts';
import { contactText, constraints } from './kubernetes-policies.ts';
import type { Manifest } from '../objects/kube-object.ts';
import { debugDefaults, type Defaults, podDefaults } from './pod-defaults.ts';
import { admissionPolicies } from './validating-policies.ts';
import type { Policy, Variable } from './policy-types.ts';

const api = 'policies.kyverno.io/v1';

/** The same policies as Kyverno's kinds (1.17 and later), with the same CEL. */
export function kyvernoPolicies(settings: AdmissionSettings): Manifest[] {
  return [
    ...[podDefaults(settings.parameters), debugDefaults()].map((defaults) =>
      mutating(defaults, settings),
    ),
    ...admissionPolicies(settings).map((policy) => validating(policy, settings)),
  ];
}

function validating(policy: Policy, settings: AdmissionSettings): Manifest {
  return {
    apiVersion: api,
    kind: 'ValidatingPolicy',
    metadata: metadata(policy, settings),
    spec: {
      ...atAdmission(['validatingAdmissionPolicy']),
      validationActions: ['Deny'],
      failurePolicy: 'Fail',
      matchConstraints: constraints(policy, settings),
      ...(policy.conditions.length === 0 ? {} : { matchConditions: named(policy.conditions) }),
      variables: named(policy.variables),
      validations: policy.rules.map(({ holds, message, when }) => ({
        expression: when === undefined ? holds : `!(${when.applies}) || (${holds})`,
        messageExpression: `${message} + ${contactText(settings)}`,
      })),
    },
  };
}

function mutating(defaults: Defaults, settings: AdmissionSettings): Manifest {
  return {
    apiVersion: api,
    kind: 'MutatingPolicy',
    metadata: metadata(defaults, settings),
    spec: {
      ...atAdmission(['mutatingAdmissionPolicy']),
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: constraints({ ...defaults, ofUsers: true }, settings),
      variables: named(defaults.variables),
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: defaults.patch } }],
    },
  };
}

function metadata(
  { name, about }: { readonly name: string; readonly about: string },
  { prefix }: AdmissionSettings,
): Manifest['metadata'] {
  return { name: prefix + name, annotations: { 'policies.kyverno.io/description': about } };
}

/**
 * Evaluates at admission only, without background reports. Workloads have their own policy, so Kyverno
 * must not generate policies for them, nor ValidatingAdmissionPolicies.
 */
function atAdmission(generated: readonly string[]): object {
  return {
    evaluation: { admission: { enabled: true }, background: { enabled: false } },
    autogen: {
      podControllers: { controllers: [] },
      ...Object.fromEntries(generated.map((kind) => [kind, { enabled: false }])),
    },
  };
}

function named(variables: readonly Variable[]): object[] {
  return variables.map(({ name, expression, byName }) => ({
    name,
    expression: byName ?? expression,
  }));
}
