import type { CapiCluster } from '../../../clusters/access/rules/capi-cluster.ts';

/** `NAMESPACE/NAME` of a Cluster. */
export function pathOf({ namespace, name }: Pick<CapiCluster, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** A cluster's name in OnDemand, or why it gets none. */
export interface NameChoice {
  readonly name: string;
  readonly problem?: string;
}

/** File names end at 255 bytes, and temporary ones are longer. */
const longestName = 200;

/**
 * OnDemand's name of each cluster. Root's settings, the hook's token and what users know belong to a name, and anybody
 * with a namespace can make a Cluster of any name: so a name stays with the Cluster that has it. A new Cluster has its own
 * name; with the namespace before it if another one has or wants that name.
 *
 * @param clusters those that can be used
 * @param held names of clusters.d with the path of the Cluster that the file was made from; undefined if it was not
 */
export function clusterNames<C extends CapiCluster>(
  clusters: readonly C[],
  held: ReadonlyMap<string, string | undefined>,
): ReadonlyMap<C, NameChoice> {
  const own = namesByCluster(held);
  const choices = new Map<C, NameChoice>();
  const newcomers: C[] = [];
  for (const cluster of clusters) {
    const name = own.get(pathOf(cluster));
    if (name === undefined) newcomers.push(cluster);
    else choices.set(cluster, { name });
  }
  const taken = new Set(held.keys());
  const sameName = Map.groupBy(newcomers, ({ name }) => name);
  const longer: C[] = [];
  for (const cluster of newcomers) {
    const { name } = cluster;
    const isHeld = held.get(name) !== undefined;
    if (isHeld || (sameName.get(name)?.length ?? 0) > 1) longer.push(cluster);
    else choices.set(cluster, { name, ...problemOf(name, taken) });
  }
  for (const { name } of choices.values()) taken.add(name);
  const sameLonger = Map.groupBy(longer, longerName);
  for (const [name, all] of sameLonger)
    for (const cluster of all) {
      const [other] = all.filter((one) => one !== cluster);
      const problem =
        other === undefined
          ? problemOf(name, taken)
          : { problem: `the Cluster ${pathOf(other)} would have the name ${name}, too` };
      choices.set(cluster, { name, ...problem });
    }
  return choices;
}

/** The name that each Cluster has. Of several files, which somebody has copied, the first one. */
function namesByCluster(
  held: ReadonlyMap<string, string | undefined>,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, cluster] of held)
    if (cluster !== undefined && !names.has(cluster)) names.set(cluster, name);
  return names;
}

function longerName({ namespace, name }: CapiCluster): string {
  return `${namespace}-${name}`;
}

function problemOf(name: string, taken: ReadonlySet<string>): { readonly problem?: string } {
  if (taken.has(name))
    return { problem: `clusters.d has a cluster ${name} already, which was not made for it` };
  return name.length > longestName ? { problem: 'its name is too long' } : {};
}
