import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { formattedPage } from '../../../scripts/docs/pages.ts';
import { schemaPages } from '../../../scripts/docs/config-schemas.ts';
import type { JsonSchema } from '../../../scripts/docs/json-schema.ts';
import { keyTexts, type Section } from '../../../scripts/docs/key-texts.ts';
import { parseAdmissionParameters } from '../../../src/config/schema/admission-parameters.ts';
import { defaultSettings } from '../../../src/config/schema/default-settings.ts';
import { parseOodCluster } from '../../../src/config/schema/ood-cluster-file.ts';
import { parseLdap } from '../../../src/config/schema/ldap-settings.ts';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import { parseSshSettings } from '../../../src/config/schema/ssh-settings.ts';
import { codeBlocks, pages } from '../../rig/markdown-pages.ts';

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
const validators = new Map<string, ValidateFunction>();
for (const page of schemaPages) {
  const schema = JSON.parse(await formattedPage(page)) as JsonSchema;
  validators.set(basename(page.path, '.json'), ajv.compile(schema));
}

function faultsOf(name: string, yaml: string): string[] {
  const validate = validators.get(name);
  if (validate === undefined) throw new Error(`no schema for ${name}`);
  if (validate(parse(yaml))) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message = '' }) => `${instancePath} ${message}`,
  );
}

const examples = [
  ...globSync('etc/berth/*.example').map((file) => ({ file, name: basename(file, '.example') })),
  ...globSync('etc/berth/profiles/*.yml').map((file) => ({ file, name: 'profile.yml' })),
].map((one) => ({ ...one, text: readFileSync(one.file, 'utf8') }));

const blocks = pages.flatMap((page) =>
  codeBlocks(page).flatMap(({ text }) => {
    const file = /^# \/etc\/(?:berth|ood\/config)\/(\S+\.yml)/.exec(text)?.[1];
    // OnDemand's own.
    if (file === undefined || /^(?:ood_portal\.yml$|ondemand\.d\/)/.test(file)) return [];
    const kinds: Record<string, string> = {
      profiles: 'profile.yml',
      'clusters.d': 'clusters.d.yml',
      'hub.yml': 'berth.yml',
      'slurm-sync.yml': 'berth.yml',
    };
    return [{ page, name: kinds[file.split('/')[0] ?? ''] ?? file, text }];
  }),
);

describe('the JSON Schemas', () => {
  it.each(examples)('accept $file, which names its schema for editors', ({ name, text }) => {
    expect(faultsOf(name, text)).toEqual([]);
    expect(text.split('\n')[0]).toBe(
      `# yaml-language-server: $schema=/usr/share/berth/schema/${name}.json`,
    );
  });

  it.each(blocks)('accept the $name in $page', ({ name, text }) => {
    expect(faultsOf(name, text)).toEqual([]);
  });

  it.each([
    ['berth.yml', 'deadlin: 10s', ' must NOT have additional properties'],
    ['berth.yml', 'deadline: 10', '/deadline must be string'],
    [
      'berth.yml',
      'clusters: {prod: {credentials: {mode: odic}}}',
      '/clusters/prod/credentials/mode must be equal to one of the allowed values',
    ],
    ['berth.yml', 'ldap: {url: ldaps://a}', "/ldap must have required property 'users'"],
    ['ssh.yml', 'rules: [{groups: [a]}]', "/rules/0 must have required property 'profile'"],
    [
      'profile.yml',
      'image: a\npod: {extended: {gpu: 1}}',
      '/pod/extended property name must be valid',
    ],
    ['admission.yml', 'max_lifetime: 8', '/max_lifetime must be string'],
  ])('refuse, for %s, %s', (name, text, fault) => {
    expect(faultsOf(name, text)).toContain(fault);
  });

  it.each([...schemaPages])('$path describes every key as the reference does', async (page) => {
    const { properties = {} } = JSON.parse(await formattedPage(page)) as JsonSchema;
    const described = descriptionsIn(properties);
    const wrong = described.filter(
      ({ key, schema }) =>
        !referenceTexts(page.path, key).includes(
          `${schema.description?.split('\n')[0]} ${JSON.stringify(schema.default)}`,
        ),
    );
    expect(wrong.map(({ key }) => key)).toEqual([]);
    expect(described.length).toBeGreaterThan(5);
  });
});

describe('the schema of clusters.d', () => {
  const base = { adapter: 'kubernetes', server: { endpoint: 'https://kube.example.com:6443' } };
  it.each<[string, object]>([
    ['OIDC', { ...base, auth: { type: 'oidc' } }],
    ['names that are numbers', { ...base, cluster: 1, context: 2 }],
    ["OnDemand's other keys", { ...base, bin: '/usr/bin/kubectl' }],
    ['an unknown auth', { ...base, auth: { type: 'token' } }],
    ['plain HTTP', { ...base, server: { endpoint: 'http://kube.example.com' } }],
    ['a user in the URL', { ...base, server: { endpoint: 'https://a@kube.example.com' } }],
    ['a relative CA', { ...base, server: { ...base.server, cert_authority_file: 'ca.pem' } }],
    ['a list as cluster', { ...base, cluster: [] }],
  ])('agrees with what Berth reads: %s', (_title, job) => {
    const validate = validators.get('clusters.d.yml');
    const document = { v2: { job } };
    const accepted = validate?.(document);
    const read = (): unknown => parseOodCluster(document, 'prod', 'prod.yml');
    if (accepted === true) expect(read).not.toThrow();
    else expect(read).toThrow('v2.job.');
  });
});

describe('the described defaults', () => {
  it('of berth.yml are what is built in', () => {
    const { minimum_uid, deadline, ...paths } = defaultsOf('berth');
    expect({ minimum_uid, deadline }).toEqual({
      minimum_uid: defaultSettings.minimumUid,
      deadline: `${defaultSettings.deadlineMs / 1000}s`,
    });
    expect({ ...paths, admin: defaultsOf('cluster').admin }).toMatchObject({
      state_dir: defaultSettings.stateDir,
      kube_credential: defaultSettings.kubeCredentialCommand,
      hook_env: defaultSettings.hookEnvFile,
      clusters_dir: defaultSettings.clustersDir,
      admin: { kubeconfig: defaultSettings.adminKubeconfig },
    });
  });

  it('of ldap are what counts without them', () => {
    const needed = {
      url: 'ldaps://a',
      users: { base: 'b' },
      groups: { base: 'c' },
      config_maps: {},
    };
    expect(parseLdap(merged(needed, defaultsOf('ldap')), 'f')).toEqual(parseLdap(needed, 'f'));
  });

  it('of ssh.yml are what counts without them', () => {
    // Without rules nobody gets a session either, but `berth doctor` reports it.
    expect(parseSshSettings(defaultsOf('ssh'), 'f')).toEqual({
      ...parseSshSettings({}, 'f'),
      noSessions: true,
    });
  });

  it('of admission.yml are what counts without them', () => {
    const { default_resources, ...others } = defaultsOf('admission');
    expect(parseAdmissionParameters({ default_resources, ...others }, 'f')).toEqual(
      parseAdmissionParameters({}, 'f'),
    );
  });

  it('of a profile are what counts without them', () => {
    const needed = { image: 'a' };
    const { grace, slurm, mounts, ...rest } = defaultsOf('profile');
    const same = (given: object, without: object): void => {
      expect(parseProfile(given, 'p', 'f')).toEqual(parseProfile(without, 'p', 'f'));
    };
    const { pod, ...others } = rest;
    // Defaults of entries of lists and maps, of which there are none.
    const entries = ['tolerations', 'volumes'];
    const own = Object.entries(pod as object).filter(([key]) => !entries.includes(key));
    // Nothing of `batch` has a default, and a choice needs its limit.
    same({ ...others, ...needed, batch: {}, pod: Object.fromEntries(own) as object }, needed);
    same({ ...needed, mounts }, needed);
    same({ ...needed, lifetime: 'user', grace }, { ...needed, lifetime: 'user' });
    same({ ...needed, slurm }, { ...needed, slurm: {} });
  });
});

/** All literal defaults of a section, nested as the file is; those within a list are left out. */
function defaultsOf(section: Section): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const [key, { default: value }] of keyTexts(section)) {
    const path = key.split('.');
    const last = path.pop() ?? '';
    let target: unknown = document;
    for (const part of path) {
      if (target !== null && typeof target === 'object' && !Array.isArray(target))
        target = (target as Record<string, unknown>)[part] ??= {};
    }
    if (value !== undefined && typeof target === 'object' && !Array.isArray(target))
      (target as Record<string, unknown>)[last] = value;
  }
  return document;
}

function merged(into: object, from: object): object {
  const entries = Object.entries(from).map(([key, value]: [string, unknown]): [string, unknown] => {
    const own = (into as Record<string, unknown>)[key];
    const both =
      typeof own === 'object' && typeof value === 'object' && own !== null && value !== null;
    return [key, both ? merged(own, value) : value];
  });
  return { ...into, ...Object.fromEntries(entries) };
}

/** All keys of a schema. Below a map, the name is PATH. */
function descriptionsIn(
  properties: Record<string, JsonSchema>,
  path = '',
): { readonly key: string; readonly schema: JsonSchema }[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const key = `${path}${name}`;
    const inside = (one: unknown, below: string): { key: string; schema: JsonSchema }[] =>
      typeof one === 'object' ? descriptionsIn((one as JsonSchema).properties ?? {}, below) : [];
    return [
      { key, schema },
      ...[schema, schema.items, ...(schema.anyOf ?? [])].flatMap((one) => inside(one, `${key}.`)),
      ...inside(schema.additionalProperties, `${key}.PATH.`),
    ];
  });
}

const textsRead = new Map<Section, ReturnType<typeof keyTexts>>();
function textsOf(section: Section): ReturnType<typeof keyTexts> {
  const texts = textsRead.get(section) ?? keyTexts(section);
  textsRead.set(section, texts);
  return texts;
}

/** What a key's description and default may be. `cluster` and `ldap` are sections of berth.yml. */
function referenceTexts(path: string, key: string): string[] {
  const section = basename(path, '.yml.json').replace('.', '-') as Section;
  const inBerth = /^(?:defaults|clusters\.PATH)\.(.*)$/.exec(key)?.[1];
  const inLdap = /^ldap\.(.*)$/.exec(key)?.[1];
  const inSlurm = /^slurm_accounts\.(.*)$/.exec(key)?.[1];
  const places: readonly (readonly [Section, string | undefined])[] =
    section === 'berth'
      ? [
          [section, key],
          ['cluster', inBerth],
          ['ldap', inLdap],
          ['slurm-accounts', inSlurm],
        ]
      : [[section, key]];
  return places.flatMap(([one, own]) => {
    const text = own === undefined ? undefined : textsOf(one).get(own);
    return text === undefined
      ? []
      : [`${text.text.split('\n')[0]} ${JSON.stringify(text.default)}`];
  });
}
