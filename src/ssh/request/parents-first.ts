/** A process and its parent, by their numbers in one PID namespace. */
export interface Child {
  readonly pid: number;
  readonly parent: number;
}

/** A chain of parents may be as long as a user likes; who is further down is stopped with the last. */
const mostLayers = 32;

/**
 * Those that have children here, in layers: every process of a layer is to be stopped before the next one
 * is touched. A shell that still waits when its job stops is told so by wait(2), with WUNTRACED, and takes the
 * terminal back for good.
 */
export function parentsFirst<Process extends Child>(all: readonly Process[]): Process[][] {
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
