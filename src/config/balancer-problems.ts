import type { BalancerDocument } from './balancer-yml.ts';
import { type ProblemMessage, writtenPath } from './config-problem.ts';
import { nearestKey } from './nearest-key.ts';

type Path = readonly (string | number)[];
interface Placed {
  readonly path: Path;
  readonly value: string;
}

/** What the schema cannot see: names, addresses and ports that are there twice, and systems that are not there. */
export function* balancerProblems(document: BalancerDocument): Generator<ProblemMessage> {
  const { balancers = [], systems, kinds } = document;
  yield* twice(column(balancers, ['balancers'], 'name'), 'the name');
  yield* twice(column(balancers, ['balancers'], 'address'), 'the address');
  yield* twice(column(systems, ['systems'], 'name'), 'the name');
  for (const [index, { nodes }] of systems.entries()) {
    const path = ['systems', index, 'nodes'];
    yield* twice(column(nodes, path, 'name'), 'the name');
    yield* twice(column(nodes, path, 'address'), 'the address');
  }
  yield* twice(
    kinds.map(({ name, system }, index) => ({
      path: ['kinds', index, 'name'],
      value: `${name} of system ${system}`,
    })),
    'the kind',
  );
  yield* unknownSystems(document);
  yield* takenPorts(document);
  yield* poolWithoutName(document);
}

function column<K extends string>(
  entries: readonly Readonly<Record<K, string>>[],
  path: Path,
  key: K,
): Placed[] {
  return entries.map((entry, index) => ({ path: [...path, index, key], value: entry[key] }));
}

/** IPv6 addresses and host names are equal in any case. */
function* twice(values: readonly Placed[], what: string): Generator<ProblemMessage> {
  const first = new Map<string, Path>();
  for (const { path, value } of values) {
    const key = value.toLowerCase();
    const before = first.get(key);
    if (before === undefined) first.set(key, path);
    else
      yield {
        path,
        text: `${writtenPath(path)}: ${what} ${value} is already used by ${writtenPath(before)}`,
      };
  }
}

function* unknownSystems({ systems, kinds }: BalancerDocument): Generator<ProblemMessage> {
  const known = systems.map(({ name }) => name);
  for (const [index, { system }] of kinds.entries()) {
    if (known.includes(system)) continue;
    const path = ['kinds', index, 'system'];
    const near = nearestKey(system, known);
    const help = near === undefined ? `there are: ${known.join(', ')}` : `did you mean ${near}?`;
    yield { path, text: `${writtenPath(path)}: there is no system ${system} in systems: ${help}` };
  }
}

/** Each port of a balancer is one listener. */
function* takenPorts({
  kinds,
  peers_port: peers,
  statistics,
}: BalancerDocument): Generator<ProblemMessage> {
  const ports: [Path, number | undefined, number][] = [
    ...kinds.map(({ port }, index): [Path, number, number] => [['kinds', index, 'port'], port, 0]),
    [['peers_port'], peers, 1024],
    [['statistics', 'port'], statistics?.port, 8404],
  ];
  const first = new Map<number, string>();
  for (const [path, given, standard] of ports) {
    const port = given ?? standard;
    const name = given === undefined ? `${writtenPath(path)} (default)` : writtenPath(path);
    const before = first.get(port);
    if (before === undefined) first.set(port, name);
    else yield { path, text: `${name}: port ${port} is already used by ${before}` };
  }
}

function* poolWithoutName({ kubernetes }: BalancerDocument): Generator<ProblemMessage> {
  if (kubernetes?.addresses === undefined || kubernetes.pool !== undefined) return;
  const path = ['kubernetes', 'addresses'];
  yield {
    path,
    text: 'kubernetes.addresses needs kubernetes.pool: the name of the pool that Berth makes of these addresses',
  };
}
