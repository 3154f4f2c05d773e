/** Kubeconfigs as people have them: every style and oddity, from a seed, with their foreign parts. */
import { seededRandom } from '../../../rig/seeded-random.ts';

export interface RandomKubeconfig {
  readonly text: string;
  /** Pieces that no edit of ours may touch, in their order. */
  readonly foreign: readonly string[];
}

/** The entries that are ours, present in some of the files in some older form. */
export const ours = { user: 'oidc-ann', cluster: 'ondemand', context: 'ondemand' } as const;

const keyOf = { clusters: 'cluster', contexts: 'context', users: 'user' } as const;
type List = keyof typeof keyOf;

export function randomKubeconfig(seed: number): RandomKubeconfig {
  const random = seededRandom(seed);
  const style = random();
  const made = style < 0.2 ? jsonFile(random) : style < 0.4 ? flowFile(random) : blockFile(random);
  if (random() > 0.2) return made;
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
  return { text: crlf(made.text), foreign: made.foreign.map(crlf) };
}

type Random = () => number;

const pick = <T>(random: Random, ...choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;

function blockFile(random: Random): RandomKubeconfig {
  const parts: string[] = [];
  const foreign: string[] = [];
  const add = (text: string, isForeign = true): void => {
    parts.push(text);
    if (isForeign && text.trim() !== '') foreign.push(text.trimEnd());
  };
  if (random() < 0.2) add('# my clusters, do not touch\n\n');
  if (random() < 0.2) add('---\n');
  const step = pick(random, 0, 0, 2, 4);
  const blocks: (() => void)[] = [
    () => add(pick(random, 'apiVersion: v1\n', 'apiVersion: "v1"   # quoted\n', '')),
    () => add(pick(random, 'kind: Config\n', "kind: 'Config'\n")),
    () => add(pick(random, 'preferences: {}\n', 'preferences:\n  colors: true\n', '')),
    () =>
      add(
        pick(random, '', 'current-context: work\n', 'current-context: ""\n', 'current-context:\n'),
        false,
      ),
    () => add(pick(random, '', 'extensions: [ ]\n', '\n\n# a gap\n\n')),
    ...(Object.keys(keyOf) as List[]).map((list) => () => blockList(random, list, step, add)),
  ];
  for (const block of shuffled(random, blocks)) block();
  if (random() < 0.2) add('# the end\n');
  const text = parts.join('');
  const cut = random() < 0.15 && !/\|\+[^]*\n\n$/.test(text) ? text.trimEnd() : text;
  return { text: cut === '' ? 'kind: Config\n' : cut, foreign };
}

function blockList(
  random: Random,
  list: List,
  step: number,
  add: (text: string, isForeign?: boolean) => void,
): void {
  const kind = random();
  if (kind < 0.1) return;
  if (kind < 0.2) {
    add(
      pick(random, `${list}:\n`, `${list}: []\n`, `${list}: null # none yet\n`, `${list}: ~\n`),
      false,
    );
    return;
  }
  add(`${list}:${pick(random, '', '', ' # mine', '  ')}\n`);
  const items = shuffled(random, [
    ...Array.from({ length: Math.floor(random() * 4) }, (_, index) => ({
      name: `f${index}`,
      own: false,
    })),
    ...(random() < 0.5 ? [{ name: ours[keyOf[list]], own: true }] : []),
  ]);
  if (items.length === 0) items.push({ name: 'only', own: false });
  const pad = ' '.repeat(step);
  for (const { name, own } of items) {
    if (own) add(ownItem(random, list, name, pad), false);
    else add(foreignItem(random, list, name, pad));
    if (random() < 0.15) add(`${pad}# between\n`);
  }
}

function foreignItem(random: Random, list: List, name: string, pad: string): string {
  const key = keyOf[list];
  const inner = `${pad}    `;
  return pick(
    random,
    `${pad}- name: ${name}\n${pad}  ${key}:\n${inner}server: https://${name}:6443   # comment\n${inner}# token: old\n`,
    `${pad}- ${key}:\n${inner}token: 'it''s'\n${inner}extra: "tab\\t"\n${pad}  name: "${name}"\n`,
    `${pad}-   name: ${name}\n${pad}    ${key}: {a: 1, b: [x, y], "c": null}\n`,
    `${pad}- {name: ${name}, ${key}: {token: abc}}   # flow\n`,
    `${pad}- name: ${name}\n${pad}  ${key}:\n${inner}data: |\n${inner}  line one\n${inner}  # not a comment\n\n${inner}  line two\n`,
    `${pad}-\n${pad}  name: ${name}\n${pad}  ${key}:\n${inner}extensions:\n${inner}- name: x\n${inner}  extension: {last-update: "Thu"}\n${inner}folded: >-\n${inner}  some\n${inner}  text\n\n`,
    `${pad}- name: ${name}\n${pad}  ${key}:\n`,
    `${pad}- name: ${name}\n${pad}  ${key}: &anchor-${list}-${name}\n${inner}token: t\n${pad}- name: alias-${name}\n${pad}  ${key}: *anchor-${list}-${name}\n`,
  );
}

function ownItem(random: Random, list: List, name: string, pad: string): string {
  const key = keyOf[list];
  const inner = `${pad}    `;
  return pick(
    random,
    `${pad}- name: ${name}\n${pad}  ${key}:\n${inner}token: stale\n${inner}as: somebody\n`,
    `${pad}- ${key}:\n${inner}auth-provider:\n${inner}  name: oidc\n${inner}  config:\n${inner}    id-token: a.b.c\n${inner}tls-server-name: x\n${inner}keep: me # this\n${pad}  name: ${name}\n`,
    `${pad}- {name: ${name}, ${key}: {token: abc, server: old}}\n`,
    `${pad}- name: ${name}\n${pad}  ${key}: {certificate-authority-data: Zm9v}\n`,
    `${pad}- name: ${name}\n${pad}  ${key}: {}\n`,
    `${pad}- name: ${name}\n${pad}  ${key}:\n`,
    `${pad}- name: ${name}\n${pad}  ${key}: null # later\n`,
    `${pad}- name: ${name}\n`,
    `${pad}- ${key}:\n${inner}exec: {command: other, args: [a]}\n${inner}server: |-\n${inner}  https://old\n${pad}  "name": ${name}\n`,
  );
}

function flowFile(random: Random): RandomKubeconfig {
  const foreign: string[] = [];
  const lists = shuffled(random, Object.keys(keyOf) as List[]).flatMap((list) => {
    if (random() < 0.2) return [];
    const items = Array.from({ length: Math.floor(random() * 3) }, (_, index) => {
      const item = `{ name: g${index}, ${keyOf[list]}: {server: 'https://g', x: [1,2]} }`;
      foreign.push(item);
      return item;
    });
    if (random() < 0.4)
      items.push(`{name: ${ours[keyOf[list]]}, ${keyOf[list]}: {token: stale, as: me}}`);
    return [
      `${list}: [${items.join(pick(random, ', ', ',\n  '))}${items.length > 0 ? pick(random, '', ',') : ''}]`,
    ];
  });
  return { text: `{kind: Config, ${lists.join(',\n ')}}\n`, foreign };
}

function jsonFile(random: Random): RandomKubeconfig {
  const foreign: string[] = [];
  const indent = pick<string | number | undefined>(random, undefined, 1, 2, 4, '\t');
  const value: Record<string, unknown> = { apiVersion: 'v1', kind: 'Config' };
  for (const list of Object.keys(keyOf) as List[]) {
    if (random() < 0.2) continue;
    const items: unknown[] = Array.from({ length: Math.floor(random() * 3) }, (_, index) => {
      foreign.push(`"${list}-${index}"`, `"value-${index}"`);
      return { name: `${list}-${index}`, [keyOf[list]]: { field: `value-${index}`, list: [1, 2] } };
    });
    if (random() < 0.4)
      items.push({ name: ours[keyOf[list]], [keyOf[list]]: { token: 'stale', as: 'me' } });
    value[list] = items;
  }
  return { text: JSON.stringify(value, null, indent) + pick(random, '', '\n'), foreign };
}

function shuffled<T>(random: Random, values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}
