/** A process and its parent, by their numbers in one PID namespace. */
export interface ProcessWithParent {
  readonly pid: number;
  readonly parent: number;
}

/** A user can make chains of parents of any length; processes below this depth share the last layer. */
const mostLayers = 32;

/**
 * The processes that have children in `all`, in layers from the top: stop every process of a layer before
 * the next layer. A shell that still runs when its job stops is told so by wait(2) with WUNTRACED, and takes the
 * terminal back permanently.
 */
export function parentsFirst<Process extends ProcessWithParent>(
  all: readonly Process[],
): Process[][] {
  const parents = new Set(all.map(({ parent }) => parent));
  const byPid = new Map(all.map((one) => [one.pid, one]));
  const layers: Process[][] = [];
  for (const one of all) {
    if (!parents.has(one.pid)) continue;
    let depth = 0;
    for (let at = byPid.get(one.parent); at && depth < mostLayers - 1; at = byPid.get(at.parent))
      depth += 1;
    (layers[depth] ??= []).push(one);
  }
  return layers.filter((layer) => layer.length > 0);
}
