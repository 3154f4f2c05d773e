import admission from '../../../etc/schema/admission.yml.json' with { type: 'json' };
import balancer from '../../../etc/schema/balancer.yml.json' with { type: 'json' };
import berth from '../../../etc/schema/berth.yml.json' with { type: 'json' };
import clustersD from '../../../etc/schema/clusters.d.yml.json' with { type: 'json' };
import profile from '../../../etc/schema/profile.yml.json' with { type: 'json' };
import ssh from '../../../etc/schema/ssh.yml.json' with { type: 'json' };

import type { SettingsFiles, ShownSetting } from '../../config/load/shown-settings.ts';

/** A file of the configuration. */
interface ConfigurationFile {
  /** As the command line names it. */
  readonly name: string;
  readonly path: string;
  readonly schema: Schema;
}

/** A key of a file, or the file itself. */
export interface ConfigurationKey {
  readonly file: string;
  readonly path: string;
  /** Such as `clusters.NAME.admin.kubeconfig`; '' for the file. The entries of a list have no name: `rules.users`. */
  readonly key: string;
  readonly required: boolean;
  /** Of JSON Schema, such as `array`; several are separated by `|`. */
  readonly type: string;
  /** What it does, which values it takes and its default, in paragraphs. */
  readonly description: string;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly title?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly required?: readonly string[];
}

const files = [
  { name: 'berth.yml', path: '/etc/berth/berth.yml', schema: berth },
  { name: 'ssh.yml', path: '/etc/berth/ssh.yml', schema: ssh },
  { name: 'profile', path: '/etc/berth/profiles/NAME.yml', schema: profile },
  { name: 'admission.yml', path: '/etc/berth/admission.yml', schema: admission },
  { name: 'balancer.yml', path: '/etc/berth/balancer.yml', schema: balancer },
  { name: 'clusters.d', path: '/etc/ood/config/clusters.d/NAME.yml', schema: clustersD },
] as readonly ConfigurationFile[];

/** All files and their keys, in the order of the schemas. */
export const configurationKeys: readonly ConfigurationKey[] = files.flatMap(
  ({ name, path, schema }) => {
    const itself = { key: '', schema, required: false };
    return [itself, ...keysBelow(schema, '')].map(({ key, schema: own, required }) => ({
      file: name,
      path,
      key,
      required,
      type: typeOf(own),
      description: own.description ?? own.title ?? '',
    }));
  },
);

/**
 * The defaults of the keys that are not set, without those of entries with a name and of lists.
 *
 * @param paths the files that were read
 */
export function defaultsOf(set: readonly ShownSetting[], paths: SettingsFiles): ShownSetting[] {
  return (
    [
      [paths.berthYml, berth],
      [paths.sshYml, ssh],
    ] as [string, Schema][]
  ).flatMap(([file, schema]) => {
    const known = set.filter((one) => one.file === file);
    return keysBelow(schema, '').flatMap(({ key, schema: { default: value } }) => {
      const isSet = known.some((one) => one.key === key || one.key.startsWith(`${key}.`));
      return value === undefined || isSet || key.split('.').includes('NAME')
        ? []
        : [{ key, value, file }];
    });
  });
}

interface FoundKey {
  readonly key: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** The keys below a value: of a mapping, of the entries of a list, and of each alternative. */
function keysBelow(schema: Schema, path: string): FoundKey[] {
  const { properties = {}, additionalProperties, items, anyOf = [], required = [] } = schema;
  const dotted = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const own = Object.entries(properties).flatMap(([name, value]) => {
    const key = { key: dotted(name), schema: value, required: required.includes(name) };
    // Objects of Kubernetes have keys of their own, which Kubernetes describes.
    return value.description === undefined ? [] : [key, ...keysBelow(value, key.key)];
  });
  const named =
    typeof additionalProperties === 'object' ? keysBelow(additionalProperties, dotted('NAME')) : [];
  const entries = items === undefined ? [] : keysBelow(items, path);
  return [...own, ...named, ...entries, ...anyOf.flatMap((one) => keysBelow(one, path))];
}

function typeOf({ type, anyOf = [] }: Schema): string {
  const types = type === undefined ? anyOf.map(typeOf) : [type].flat();
  return [...new Set(types)].join('|');
}

/**
 * The keys that a word names: `berth.yml`, `ssh.yml:rules.users`, `clusters.prod.deadline`, or the end of a path, such as
 * `admin.kubeconfig`.
 */
export function keysNamed(word: string): readonly ConfigurationKey[] {
  const [, file, wanted = ''] = /^(?:([a-z]+(?:\.yml|\.d)|profile)(?::|$))?(.*)$/.exec(word) ?? [];
  const within = configurationKeys.filter((one) => file === undefined || one.file === file);
  const exact = within.filter(({ key }) => matches(key.split('.'), wanted.split('.')));
  if (exact.length > 0) return exact;
  const parts = wanted.split('.');
  return within.filter(({ key }) => matches(key.split('.').slice(-parts.length), parts));
}

function matches(key: readonly string[], wanted: readonly string[]): boolean {
  return (
    key.length === wanted.length &&
    key.every((part, index) => part === 'NAME' || part === wanted[index])
  );
}

/** The keys directly below this one. */
export function keysInside({ file, key }: ConfigurationKey): readonly ConfigurationKey[] {
  const before = key === '' ? '' : `${key}.`;
  return configurationKeys.filter((one) => {
    const rest = one.key.slice(before.length);
    return (
      one.file === file &&
      one.key.startsWith(before) &&
      rest !== '' &&
      !rest.replace(/^NAME\./, '').includes('.')
    );
  });
}
