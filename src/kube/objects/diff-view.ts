import type { LiveObject } from './kube-object.ts';

/** Fields that the API server manages, which are not shown in a diff. */
const serverFields = ['managedFields', 'resourceVersion', 'uid', 'creationTimestamp', 'generation'];

/** Annotation with the copy of an object that `kubectl apply` sent, which includes a Secret's contents. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** The object without the fields that the API server manages and without kubectl's copy. */
export function withoutManagedFields(object: LiveObject): LiveObject {
  const { annotations, ...metadata } = without(object.metadata, serverFields);
  return {
    ...without(object, ['status']),
    metadata: {
      ...metadata,
      ...(annotations === undefined
        ? {}
        : { annotations: without(annotations as object, [lastApplied]) }),
    },
  } as LiveObject;
}

function without(object: object, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)));
}

/**
 * Masks the values of a Secret in a comparison, showing only whether they differ, as `kubectl diff`
 * does.
 */
export function maskSecretValues(
  before: LiveObject | undefined,
  after: LiveObject,
): { readonly before?: LiveObject; readonly after: LiveObject } {
  if (after.kind !== 'Secret') return before === undefined ? { after } : { before, after };
  const masked = (object: LiveObject, other: LiveObject | undefined, mark: string): LiveObject => ({
    ...object,
    data: Object.fromEntries(
      Object.entries(secretData(object)).map(([key, value]) => [
        key,
        other !== undefined && secretData(other)[key] !== value ? `*** (${mark})` : '***',
      ]),
    ),
  });
  return {
    ...(before === undefined ? {} : { before: masked(before, after, 'before') }),
    after: masked(after, before, 'after'),
  };
}

function secretData(object: LiveObject): Readonly<Record<string, unknown>> {
  return (object.data ?? {}) as Readonly<Record<string, unknown>>;
}
