/**
 * Round robin: the first item of each group, then the second of each, and so on. The order within a group
 * stays, and the groups are in the order of their first items.
 */
export function roundRobin<T>(items: readonly T[], groupOf: (item: T) => string): T[] {
  const groups = [...Map.groupBy(items, groupOf).values()];
  const longest = Math.max(0, ...groups.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) => turn).flatMap((turn) =>
    groups.flatMap((group) => group.slice(turn, turn + 1)),
  );
}
