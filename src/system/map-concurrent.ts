/**
 * Calls `work` for each item, a limited number at a time.
 *
 * @returns the results, in the order of the items
 * @throws the first error, after the calls that were already running have ended; no further calls are started
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (!failed && next < items.length) {
      const at = next;
      next += 1;
      try {
        results[at] = await work(items[at] as Item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, worker);
  const outcomes = await Promise.allSettled(workers);
  const broken = outcomes.find((outcome) => outcome.status === 'rejected');
  if (broken !== undefined) throw broken.reason;
  return results;
}
