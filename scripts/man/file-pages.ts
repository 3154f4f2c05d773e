import { readFileSync } from 'node:fs';
import { describedKeys, describedSchema, valueOf } from '../docs/config-schemas.ts';
import type { Section } from '../docs/key-texts.ts';
import type { ManPage, Release } from './command-pages.ts';
import { entry, escaped, example, page, text } from './roff.ts';

interface File {
  readonly name: string;
  readonly path: string;
  readonly purpose: string;
  /** Titles of the sections with keys. */
  readonly sections: readonly (readonly [title: string, section: Section])[];
  readonly seeAlso: readonly string[];
  /** A file below etc/, or lines. */
  readonly example?: string | readonly string[];
  /** Instead of what is true of Berth's own files. */
  readonly description?: string;
}

/** A cluster whose users log in to kubectl with the tokens of the portal. */
export const clustersDExample = [
  'v2:',
  '  metadata:',
  '    title: Kubernetes',
  '  job:',
  '    adapter: kubernetes',
  '    cluster: prod',
  '    bin: /usr/bin/kubectl',
  '    namespace_prefix: user-',
  '    auth: { type: oidc }',
  '    server:',
  '      endpoint: https://k8s.example.org:6443',
  '      cert_authority_file: /etc/berth/clusters/prod.pem',
];

const files: readonly File[] = [
  {
    name: 'berth.yml',
    example: 'berth/berth.yml.example',
    path: '/etc/berth/berth.yml',
    purpose: 'the portal and its clusters',
    sections: [
      ['KEYS', 'berth'],
      ['KEYS OF DEFAULTS AND OF EACH CLUSTER', 'cluster'],
      ['KEYS OF LDAP', 'ldap'],
    ],
    seeAlso: ['berth(8)', 'berth-plan(8)', 'berth-doctor(8)'],
  },
  {
    name: 'berth-ssh.yml',
    example: 'berth/ssh.yml.example',
    path: '/etc/berth/ssh.yml',
    purpose: 'which users of a login node get which session',
    sections: [['KEYS', 'ssh']],
    seeAlso: ['berth-profile(5)', 'berth-login(8)', 'berth-plan(8)'],
  },
  {
    name: 'berth-profile',
    example: 'berth/profiles/login-connection.yml',
    path: '/etc/berth/profiles/NAME.yml',
    purpose: 'what a session consists of',
    sections: [['KEYS', 'profile']],
    seeAlso: ['berth-ssh.yml(5)', 'berth-images(8)'],
  },
  {
    name: 'berth-balancer.yml',
    example: 'berth/balancer.yml.example',
    path: '/etc/berth/balancer.yml',
    purpose: 'login nodes behind one name',
    sections: [['KEYS', 'balancer']],
    seeAlso: ['berth-render(8)', 'berth-sshd(8)'],
  },
  {
    name: 'berth-admission.yml',
    example: 'berth/admission.yml.example',
    path: '/etc/berth/admission.yml',
    purpose: "what a site permits in its users' pods",
    sections: [['KEYS', 'admission']],
    seeAlso: ['berth-render(8)', 'berth-doctor(8)'],
  },
  {
    name: 'berth-clusters.d',
    path: '/etc/ood/config/clusters.d/NAME.yml',
    purpose: "Open OnDemand's file of a cluster, and what Berth reads of it",
    sections: [['KEYS', 'clusters-d']],
    seeAlso: ['berth.yml(5)', 'berth-clusters(8)', 'berth-init(8)'],
    example: clustersDExample,
    description:
      'A file of Open OnDemand in YAML. In `a.b`, b is a key of a. Berth reads these keys and leaves the others to OnDemand. Files whose `v2.job.adapter` is not `kubernetes` are ignored.',
  },
];

const ownFile =
  'A file in YAML. In `a.b`, b is a key of a. Times are written 500ms, 10s, 5m or 8h. An unknown key is an error.';

/** A page for each file of the configuration, from its schema and the texts of its keys. */
export function filePages(release: Release): ManPage[] {
  return files.map(({ name, path, purpose, sections, seeAlso, ...file }) => ({
    file: `${name}.5`,
    roff: page({ name, section: 5, ...release }, [
      [
        'NAME',
        // `man -k berth` finds each page.
        [`${escaped(name)} \\- ${text(purpose.includes('Berth') ? purpose : `Berth: ${purpose}`)}`],
      ],
      ['SYNOPSIS', [`.I ${escaped(path)}`]],
      ['DESCRIPTION', [text(file.description ?? ownFile)]],
      ...sections.map(([title, section]) => [title, keys(section)] as const),
      ['EXAMPLES', file.example === undefined ? [] : example(exampleLines(file.example))],
      ['SEE ALSO', [seeAlso.map(escaped).join(', ')]],
    ]),
  }));
}

/** Without the first line, which is for editors. */
function exampleLines(path: string | readonly string[]): readonly string[] {
  if (typeof path !== 'string') return path;
  const lines = readFileSync(new URL(`../../etc/${path}`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.filter((line) => !line.startsWith('# yaml-language-server'));
}

function keys(section: Section): string[] {
  const schema = describedSchema(section);
  return describedKeys(section, schema).flatMap(({ key, schema: own, text: meaning, required }) => {
    const value = valueOf(own, meaning);
    const without =
      meaning.default === undefined
        ? (meaning.unset ?? 'none')
        : meaning.default === ''
          ? 'empty'
          : JSON.stringify(meaning.default).replaceAll('"', '');
    return entry(
      `\\fB${escaped(key)}\\fR`,
      text(meaning.text),
      '.br',
      text(
        `${value === '' ? '' : `Value: ${value}. `}${required ? 'Required.' : `Default: ${without}.`}`,
      ),
    );
  });
}
