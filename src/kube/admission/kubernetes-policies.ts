import type { AdmissionSettings } from './admission-settings.ts';
import type { Manifest } from '../objects/kube-object.ts';
import { debugDefaults, type Defaults, podDefaults } from './pod-defaults.ts';
import {
  celString,
  type EachRule,
  type MatchedRequests,
  type Policy,
  type Rule,
  type Variable,
  type When,
} from './policy-types.ts';
import { admissionPolicies } from './validating-policies.ts';

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

/*
 * The API server evaluates every rule and every message, even of rules that hold: with this many rules the
 * messages are most of the cost. It returns only the first message. So the rules of a policy are joined
 * into one expression, and its message determines which rule was violated.
 */

/** CEL: true where every rule holds. */
function joinedExpression(rules: readonly Rule[]): string {
  return sections(rules)
    .map(({ when, rules: own }) =>
      when === undefined ? allHold(own) : `(!(${when.applies}) || ${allHold(own)})`,
    )
    .join(' && ');
}

/** The rules that apply to the same requests. */
function sections(rules: readonly Rule[]): { when: When | undefined; rules: readonly Rule[] }[] {
  return [...Map.groupBy(rules, ({ when }) => when)].map(([when, own]) => ({ when, rules: own }));
}

/** CEL: true where every rule holds, if all apply. Each list is iterated once for all rules about its elements. */
function allHold(rules: readonly Rule[]): string {
  const alone = rules.flatMap(({ holds, each }) => (each === undefined ? [`(${holds})`] : []));
  const lists = Map.groupBy(
    rules.flatMap(({ each }) => each ?? []),
    ({ list }) => list,
  );
  return [...alone, ...[...lists.values()].map(noneViolated)].join(' && ');
}

function noneViolated(rules: readonly EachRule[]): string {
  const [first] = rules;
  if (first === undefined) return 'true';
  const { list, element } = first;
  const violated = rules.map((rule) => `(${rule.violated})`).join(' || ');
  return `!variables.${list}.exists(${element}, ${violated})`;
}

/** CEL, a string: the message of the first rule that does not hold. */
function joinedMessage(rules: readonly Rule[]): string {
  const [only, ...others] = rules;
  // A single rule needs no search; and some rules use `authorizer`, which messages cannot.
  if (only !== undefined && others.length === 0) return only.message;
  const search = sections(rules).reduceRight((rest, { when, rules: own }) => {
    const first = own.reduceRight(
      (later, { holds, message }) => `!(${holds}) ? ${message} : ${later}`,
      "''",
    );
    const applies = when === undefined ? '' : `${when.mayApply} && `;
    return `${applies}!(${allHold(own)}) ? (${first}) : ${rest}`;
  }, "''");
  return `(${search})`;
}
