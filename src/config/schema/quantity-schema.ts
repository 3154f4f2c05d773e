import * as z from 'zod/mini';
import { parseQuantityNano } from './parse-quantity.ts';

export type Quantity = string | number;

/** An amount of a resource, which cannot be negative. */
export const quantity = z.custom<Quantity>(
  (value) => (parseQuantityNano(value) ?? -1n) >= 0n,
  'must be a quantity such as 4, 500m or 8Gi',
);
