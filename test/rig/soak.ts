/** Whether this is `npm run test:soak`, which runs every combination and repeats tests often enough to find rare faults. */
export const soak = process.env.BERTH_SOAK === 'true';

/**
 * How often a test repeats its action.
 *
 * @param some number for `npm test`: enough to test the behaviour
 * @param many number for `npm run test:soak`
 */
export function repetitions(some: number, many: number): number {
  return soak ? many : some;
}
