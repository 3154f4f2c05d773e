import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { externalDnsChart } from '../../rig/addresses/external-dns/build.ts';
import { metallbChart } from '../../rig/addresses/metallb/build.ts';
import { writeApiSchemas } from '../../rig/helm/api-schemas.ts';
import { chart, type HelmBinaries, helmBinaries } from '../../rig/helm/build.ts';
import { type ChartRepository, startChartRepository } from '../../rig/helm/chart-repository.ts';
import { helmfileBinary } from '../../rig/helmfile/build.ts';
import { openSite } from '../../rig/site/site.ts';

vi.setConfig({ hookTimeout: 1_800_000 });

const etc = new URL('../../../etc/', import.meta.url).pathname;

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly object[];
}

/** A rendered object, as far as the tests look at it. */
interface Rendered {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly object[];
  readonly spec?: {
    readonly strategy?: object;
    readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

let programs: HelmBinaries;
let helmfile: string;
let directory: string;
let repository: ChartRepository;
let schemas: string;
let rendered: readonly Rendered[];

/** The example with one repository on loopback in place of both, which has the projects' own charts. */
beforeAll(async () => {
  const site = await openSite();
  programs = await helmBinaries();
  helmfile = await helmfileBinary();
  directory = await mkdtemp(join(tmpdir(), 'berth-helmfile-'));
  schemas = await writeApiSchemas(site, join(directory, 'schemas'));
  const charts = [await metallbChart(), await externalDnsChart()];
  repository = await startChartRepository(programs.helm, join(directory, 'charts'), charts);
  const example = await readFile(join(etc, 'gitops/helmfile.yaml'), 'utf8');
  const here = example.replaceAll(/url: https:.*/g, `url: ${repository.url}`);
  await writeFile(join(directory, 'helmfile.yaml'), here);
  await cp(chart, join(directory, 'berth'), { recursive: true });
  await writeFile(join(directory, 'all.yaml'), await run('template'));
  rendered = await objects('all.yaml');
});
afterAll(async () => {
  await repository.stop();
  await rm(directory, { recursive: true });
});

async function run(...args: string[]): Promise<string> {
  const { stdout } = await execa(helmfile, ['--helm-binary', programs.helm, ...args], {
    cwd: directory,
    env: { HOME: directory },
  });
  return stdout;
}

async function objects(file: string): Promise<readonly Rendered[]> {
  const text = await readFile(join(directory, file), 'utf8');
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((one) => one !== null);
}

function find(kind: string, name: string): Rendered {
  const found = rendered.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

it('renders all releases as the API server takes them, field by field', async () => {
  const { stdout } = await execa(
    programs.kubeconform,
    [
      ...['-schema-location', schemas, '-output=json'],
      // MetalLB's kinds are not those of the API server, and schemas of schemas are too much for kubeconform.
      ...['-skip', 'IPAddressPool,L2Advertisement,CustomResourceDefinition'],
      join(directory, 'all.yaml'),
    ],
    { reject: false },
  );
  expect(JSON.parse(stdout)).toMatchObject({ resources: [] });
});

it('installs MetalLB, then Berth, then ExternalDNS', async () => {
  const [, ...groups] = (await run('show-dag')).split('\n');
  expect(groups.map((line) => line.split(/\s+/).slice(0, 2))).toEqual([
    ['1', 'metallb-system/metallb'],
    ['2', 'ondemand/berth'],
    ['3', 'ssh-balancer/external-dns'],
  ]);
});

it('gives the Service of the balancer its own pool of addresses, without BGP', () => {
  const { annotations } = find('Service', 'ssh-balancer').metadata;
  const pool = find('IPAddressPool', annotations?.['metallb.io/address-pool'] ?? '');
  const ofMetallb = rendered.filter(({ metadata }) => metadata.namespace === 'metallb-system');
  const pods = ofMetallb.filter(({ spec }) => spec?.template !== undefined);

  expect(pool.metadata.namespace).toBe('metallb-system');
  expect(pods.map(({ metadata }) => metadata.name).sort()).toEqual([
    'metallb-controller',
    'metallb-speaker',
  ]);
});

it('runs ExternalDNS as etc/kubernetes/ssh-balancer does', async () => {
  const file = join(etc, 'kubernetes/ssh-balancer/external-dns/deployment.yaml');
  const wanted = parse(await readFile(file, 'utf8')) as Rendered;
  const made = find('Deployment', 'external-dns');
  const [ours] = wanted.spec?.template?.spec.containers ?? [];
  const [theirs] = made.spec?.template?.spec.containers ?? [];

  const args = theirs?.args.filter((one) => !/^--log-(level|format)=/.test(one));
  expect(args?.sort()).toEqual([...(ours?.args ?? [])].sort());
  expect(theirs).toMatchObject({ image: ours?.image, env: ours?.env });
  expect(made.spec?.strategy).toEqual(wanted.spec?.strategy);
  expect(made.metadata.namespace).toBe(find('Service', 'ssh-balancer').metadata.namespace);
});

it('lets ExternalDNS read its own namespace only', () => {
  const { rules } = find('Role', 'external-dns');
  const cluster = rendered.filter(({ kind }) => kind.startsWith('ClusterRole'));

  expect(JSON.stringify(rules)).toContain('"services"');
  expect(JSON.stringify(rules)).not.toMatch(/create|delete|patch|update|\*/);
  expect(JSON.stringify(cluster)).not.toContain('external-dns');
});

it.each([
  ['metallb', 'loadBalancerClass=5'],
  ['external-dns', 'policy=sometimes'],
])('has its values checked by the schema of %s', async (release, value) => {
  await expect(run('--selector', `name=${release}`, 'template', '--set', value)).rejects.toThrow(
    /schema/,
  );
});
