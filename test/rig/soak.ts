/** `npm run test:soak`: every combination, and what is repeated as often as it takes to meet a rare fault. */
export const soak = process.env.BERTH_SOAK === 'true';

/**
 * How often a test repeats what it does.
 *
 * @param some with `npm test`: enough to show the behaviour
 * @param many with `npm run test:soak`
 */
export function times(some: number, many: number): number {
  return soak ? many : some;
}
