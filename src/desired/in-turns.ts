/**
 * One of each group, then the next of each, and so on: the order within a group stays, and the groups come
 * in the order of their firsts. Whoever has much waits only for their own.
 */
export function inTurns<T>(items: readonly T[], groupOf: (item: T) => string): T[] {
  const groups = [...Map.groupBy(items, groupOf).values()];
  const longest = Math.max(0, ...groups.map(({ length }) => length));
  return Array.from({ length: longest }, (_, turn) => turn).flatMap((turn) =>
    groups.flatMap((group) => group.slice(turn, turn + 1)),
  );
}
