import type * as z from 'zod/mini';

/** Dotted paths of all keys below which the schema knows no more. */
export function keysOf(schema: z.core.$ZodType, path = ''): string[] {
  // `defaults` holds what `clusters.NAME` holds: the page has one table for both.
  const shape = path === 'defaults' ? undefined : shapeOf(schema);
  if (shape === undefined) return [path];
  return Object.entries(shape).flatMap(([key, inner]) =>
    keysOf(inner, path === '' ? key : `${path}.${key}`),
  );
}

function shapeOf(schema: z.core.$ZodType): Record<string, z.core.$ZodType> | undefined {
  const { innerType, shape } = schema._zod.def as {
    innerType?: z.core.$ZodType;
    shape?: Record<string, z.core.$ZodType>;
  };
  return innerType === undefined ? shape : shapeOf(innerType);
}
