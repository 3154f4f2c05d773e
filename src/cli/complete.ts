import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { defaultSettings, kindsDirectory } from '../config/schema/default-settings.ts';
import { mappingOrEmpty } from '../system/text/mapping.ts';
import { getent } from '../system/getent.ts';
import { readTrusted } from '../system/trusted-text.ts';
import {
  type CommandNode,
  type OptionNode,
  type PositionalNode,
  namedCommand,
  optionsAt,
} from './kit/command.ts';
import { isPlaceholder, type NameKind } from './kit/options.ts';

/** What can follow a command line. */
export interface Candidate {
  readonly word: string;
  /** One line, or ''. */
  readonly summary: string;
}

/** What the shell itself completes if there are no words. */
export type Fallback = 'files' | 'directories' | 'nothing';

export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly fallback: Fallback;
}

/**
 * The words that can be in the place of the last one.
 *
 * @param words after `berth`; the last one is being written and may be empty
 */
export async function complete(root: CommandNode, words: readonly string[]): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const [, option, value] = /^(--[a-z-]+)=(.*)$/.exec(current) ?? [];
  if (option !== undefined && value !== undefined) {
    const { candidates, fallback } = await complete(root, [...before, option, value]);
    const whole = candidates.map((one) => ({ ...one, word: `${option}=${one.word}` }));
    return { candidates: whole, fallback };
  }
  // `berth help` is followed by a command.
  const { path, node } = namedCommand(root, before[0] === 'help' ? before.slice(1) : before);
  const options = optionsAt(root, node);
  const valued = (word = ''): OptionNode | undefined =>
    options.find(({ names, type }) => type !== 'boolean' && names.includes(word));
  const last = before.findLast((word) => word.startsWith('-'));
  const open = valued(before.at(-1)) ?? (valued(last)?.array === true ? valued(last) : undefined);
  const { candidates, fallback } = await all();
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), fallback };

  async function all(): Promise<Completion> {
    if (current.startsWith('-'))
      return onlyWords(
        options.flatMap(({ names, describe, hidden = false }) =>
          names
            .filter((word) => word.startsWith('--') && !hidden)
            .map((word) => ({ word, summary: describe })),
        ),
      );
    if (open !== undefined) return valuesOf(open);
    if (node.commands.length > 0)
      return onlyWords(
        node.commands.map(({ name, describe }) => ({ word: name, summary: describe })),
      );
    const given = before.filter((word, n) => !word.startsWith('-') && !valued(before[n - 1]));
    // The last one may be repeated.
    const positional = node.positionals[given.length - path.length] ?? node.positionals.at(-1);
    if (positional === undefined) return onlyWords([]);
    return valuesOf(positional);
  }
}

async function valuesOf({
  choices,
  kind,
}: Pick<PositionalNode, 'choices' | 'kind'>): Promise<Completion> {
  if (choices !== undefined) return onlyWords(plain(choices));
  if (kind === 'file') return { candidates: [], fallback: 'files' };
  if (kind === 'directory') return { candidates: [], fallback: 'directories' };
  return onlyWords(kind === undefined || isPlaceholder(kind) ? [] : plain(await namesOf(kind)));
}

function onlyWords(candidates: readonly Candidate[]): Completion {
  return { candidates, fallback: 'nothing' };
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, summary: '' }));
}

/** The kernel's overflow UID. */
const nobody = 65_534;

/** The names that this host knows, in order. None if they cannot be read: a message would be in the middle of a command line. */
async function namesOf(kind: NameKind): Promise<readonly string[]> {
  try {
    return (await sources[kind]()).toSorted();
  } catch {
    return [];
  }
}

const sources: Readonly<Record<NameKind, () => readonly string[] | Promise<readonly string[]>>> = {
  user: async () =>
    (await getent('passwd')).flatMap((line) => {
      const [name = '', , uid] = line.split(':');
      return Number(uid) >= defaultSettings.minimumUid && Number(uid) < nobody ? name : [];
    }),
  group: async () => (await getent('group')).map((line) => line.split(':', 1)[0] ?? ''),
  cluster: () => stems(defaultSettings.clustersDir, '.yml'),
  profile: () => stems('/etc/berth/profiles', '.yml'),
  'sshd-kind': () => stems(kindsDirectory, '.conf'),
  'balancer-kind': () => namesInBalancerYml('kinds'),
  balancer: () => namesInBalancerYml('balancers'),
  image: async () => {
    const { loadSshSettings } = await import('../config/load/load-ssh-settings.ts');
    const { wantedImages } = await import('../setup/images/wanted-images.ts');
    const { imageStoreDir, readIndex } = await import('../setup/images/store-transaction.ts');
    const settings = await loadSshSettings({});
    const stored = readIndex(imageStoreDir(settings)).images.flatMap(({ names }) => names);
    const wanted = wantedImages(settings.profiles).map(({ image }) => image);
    return [...new Set([...wanted, ...stored])];
  },
  address: async () => {
    const { allAddresses, hostAddresses } = await import('../setup/init/host-addresses.ts');
    return [allAddresses, ...hostAddresses()];
  },
  explained: async () => {
    const { explanations, keyNames } = await import('./explain/explain-text.ts');
    return [...explanations(undefined).map(({ code }) => code), ...keyNames()];
  },
};

/** Names of the files in a directory that end so, without that end. */
function stems(directory: string, end: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(end))
    .map((name) => basename(name, end));
}

async function namesInBalancerYml(list: 'kinds' | 'balancers'): Promise<string[]> {
  const { parseYaml } = await import('../config/schema/yaml-document.ts');
  const file = '/etc/berth/balancer.yml';
  const entries = mappingOrEmpty(parseYaml(readTrusted(file), file, 'core'))[list];
  return Array.isArray(entries) ? entries.map((one) => String(mappingOrEmpty(one).name)) : [];
}
