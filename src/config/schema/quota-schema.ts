import * as z from 'zod/mini';
import { isExtendedResource, qualifiedName } from './object-name.ts';
import { parseQuantityNano } from './parse-quantity.ts';

export type Quantity = string | number;

/** An amount of a resource, which cannot be negative. */
export const quantity = z.custom<Quantity>(
  (value) => (parseQuantityNano(value) ?? -1n) >= 0n,
  'must be a quantity such as 4, 500m or 8Gi',
);

/**
 * `spec` of a ResourceQuota and of a LimitRange with what an API server would refuse in them at each first login:
 * Kubernetes, `pkg/apis/core/validation/validation.go` and `pkg/apis/core/helper/helpers.go`.
 */

const computed = ['cpu', 'memory', 'ephemeral-storage'];
const counted = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const quotaResources = [
  ...computed,
  ...computed.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
  ...counted,
];

const podQuotas = [
  'pods',
  'cpu',
  'memory',
  'limits.cpu',
  'limits.memory',
  'requests.cpu',
  'requests.memory',
];
/** The resources that a scope can count. */
const scopeResources: Readonly<Record<string, readonly string[]>> = {
  Terminating: podQuotas,
  NotTerminating: podQuotas,
  BestEffort: ['pods'],
  NotBestEffort: podQuotas,
  PriorityClass: podQuotas,
  CrossNamespacePodAffinity: podQuotas,
  VolumeAttributesClass: ['persistentvolumeclaims', 'requests.storage'],
};
const scope = z.enum(Object.keys(scopeResources));
const withValues = ['In', 'NotIn'];

const quantities = z.record(z.string(), quantity);

const quotaSpec = z.strictObject({
  hard: quantities,
  scopes: z.optional(z.array(scope)),
  scopeSelector: z.optional(
    z.strictObject({
      matchExpressions: z.optional(
        z.array(
          z.strictObject({
            scopeName: scope,
            operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
            values: z.optional(z.array(z.string())),
          }),
        ),
      ),
    }),
  ),
});

/** `ResourceQuotaSpec` of Kubernetes. */
export const resourceQuota = quotaSpec.check(reporting(quotaProblems));

const limitItem = z.strictObject({
  type: z.enum(['Container', 'Pod', 'PersistentVolumeClaim']),
  max: z.optional(quantities),
  min: z.optional(quantities),
  default: z.optional(quantities),
  defaultRequest: z.optional(quantities),
  maxLimitRequestRatio: z.optional(quantities),
});

/** `LimitRangeSpec` of Kubernetes. */
export const limitRange = z.strictObject({
  limits: z.array(limitItem.check(reporting(limitProblems))).check(reporting(repeatedTypes)),
});

interface Found {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

function reporting<T>(problems: (value: T) => Iterable<Found>): z.core.CheckFn<T> {
  return ({ value, issues }) => {
    for (const { path, message } of problems(value))
      issues.push({ code: 'custom', path: [...path], message, input: value });
  };
}

type Quantities = z.output<typeof quantities>;

function* quotaProblems(quota: z.output<typeof quotaSpec>): Generator<Found> {
  const { hard, scopes = [], scopeSelector } = quota;
  for (const [name, amount] of Object.entries(hard)) {
    const path = ['hard', name];
    if (!isResource(name, quotaResources, /^(?:requests\.)?hugepages-./))
      yield { path, message: `is not a resource that a quota limits${countHint(name)}` };
    if (
      (counted.includes(name) || isExtendedResource(name)) &&
      nano(amount) % 1_000_000_000n !== 0n
    )
      yield { path, message: 'must be a whole number' };
  }
  for (const [index, name] of scopes.entries()) yield* scopeProblems(['scopes', index], name, hard);
  for (const other of ['BestEffort', 'Terminating'])
    if (scopes.includes(other) && scopes.includes(`Not${other}`))
      yield { path: ['scopes'], message: `must not have both ${other} and Not${other}` };
  for (const [index, one] of (scopeSelector?.matchExpressions ?? []).entries()) {
    const path = ['scopeSelector', 'matchExpressions', index];
    yield* scopeProblems([...path, 'scopeName'], one.scopeName, hard);
    if (!one.scopeName.endsWith('Class') && one.operator !== 'Exists')
      yield { path: [...path, 'operator'], message: `must be Exists for ${one.scopeName}` };
    if (withValues.includes(one.operator) !== (one.values ?? []).length > 0) {
      const message = withValues.includes(one.operator) ? 'must have a value' : 'must be absent';
      yield { path: [...path, 'values'], message: `${message} with operator ${one.operator}` };
    }
  }
}

function* scopeProblems(
  path: readonly (string | number)[],
  name: string,
  hard: Quantities,
): Generator<Found> {
  const possible = scopeResources[name] ?? [];
  const wrong = Object.keys(hard).find(
    (one) => quotaResources.includes(one) && !possible.includes(one),
  );
  if (wrong !== undefined) yield { path, message: `${name} cannot be used with hard.${wrong}` };
}

type Limit = z.output<typeof limitItem>;

/** Pairs of keys of which the first must not be greater than the second. */
const ordered = [
  ['min', 'max'],
  ['min', 'defaultRequest'],
  ['defaultRequest', 'max'],
  ['defaultRequest', 'default'],
  ['min', 'default'],
  ['default', 'max'],
] as const;

function* limitProblems({ type, ...limit }: Limit): Generator<Found> {
  const names = type === 'PersistentVolumeClaim' ? ['storage', ...quotaResources] : computed;
  for (const [key, amounts = {}] of Object.entries(limit)) {
    if (type === 'Pod' && key.startsWith('default') && Object.keys(amounts).length > 0)
      yield { path: [key], message: 'must be absent with type: Pod' };
    for (const name of Object.keys(amounts))
      if (!isResource(name, names, /^hugepages-./))
        yield { path: [key, name], message: `is not a resource of a ${type}` };
  }
  for (const [lower, upper] of ordered)
    for (const [name, amount] of Object.entries(limit[lower] ?? {})) {
      const other = limit[upper]?.[name];
      if (other !== undefined && nano(amount) > nano(other))
        yield { path: [lower, name], message: `must not be greater than ${upper}.${name}` };
    }
  for (const [name, ratio] of Object.entries(limit.maxLimitRequestRatio ?? {})) {
    const path = ['maxLimitRequestRatio', name];
    const [min, max] = [limit.min?.[name], limit.max?.[name]];
    if (nano(ratio) < 1_000_000_000n) yield { path, message: 'must be 1 or more' };
    else if (min !== undefined && max !== undefined)
      if (nano(ratio) * nano(min) > nano(max) * 1_000_000_000n)
        yield { path, message: `must not be greater than max.${name} divided by min.${name}` };
  }
  for (const [name, amount] of Object.entries(limit.default ?? {})) {
    const request = limit.defaultRequest?.[name];
    const overcommits = !name.startsWith('hugepages-') && !isExtendedResource(name);
    if (!overcommits && request !== undefined && nano(request) !== nano(amount))
      yield { path: ['defaultRequest', name], message: `must be equal to default.${name}` };
  }
  if (type === 'PersistentVolumeClaim' && !('storage' in { ...limit.min, ...limit.max }))
    yield { path: ['type'], message: 'PersistentVolumeClaim needs min.storage or max.storage' };
}

function* repeatedTypes(limits: readonly Limit[]): Generator<Found> {
  for (const [index, { type }] of limits.entries())
    if (limits.findIndex((other) => other.type === type) < index)
      yield { path: [index, 'type'], message: `${type} is there twice` };
}

/** A name without a domain must be one that Kubernetes knows. */
function isResource(name: string, known: readonly string[], pattern: RegExp): boolean {
  return (
    qualifiedName.test(name) && (name.includes('/') || known.includes(name) || pattern.test(name))
  );
}

function countHint(name: string): string {
  return /^[a-z]+$/.test(name)
    ? `: for a number of objects, count/${name} or count/${name}.GROUP`
    : '';
}

function nano(amount: unknown): bigint {
  return parseQuantityNano(amount) ?? 0n;
}
