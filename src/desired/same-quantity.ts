import { parseQuantityNano } from '../config/parse-quantity.ts';

/**
 * True if both are Kubernetes quantities of the same amount: the API server stores `1000m` as `1`
 * and `0.5` as `500m`. A YAML number is a quantity too.
 */
export function sameQuantity(one: unknown, other: unknown): boolean {
  const amount = parseQuantityNano(one);
  return amount !== undefined && amount === parseQuantityNano(other);
}
