import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { chart, type HelmBinaries, helmBinaries } from '../../rig/helm/build.ts';
import { writeApiSchemas } from '../../rig/helm/api-schemas.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let programs: HelmBinaries;
let directory: string;

beforeAll(async () => {
  site = await openSite();
  programs = await helmBinaries();
  directory = await mkdtemp(join(tmpdir(), 'berth-chart-'));
}, 1_200_000);
afterAll(() => rm(directory, { recursive: true, force: true }));

const objectsIn = (text: string): Map<string, Manifest> =>
  new Map(
    // As Helm and the API server read it: 0440 is octal.
    parseAllDocuments(text, { version: '1.1' })
      .map((document) => document.toJS() as Manifest | null)
      .filter((one) => one !== null)
      .map((one) => [`${one.kind} ${one.metadata.namespace ?? ''}/${one.metadata.name}`, one]),
  );

const manifests = new URL('../../../etc/kubernetes', import.meta.url).pathname;
const newest = ['--kube-version', '1.36.0'];

async function template(...args: string[]): Promise<string> {
  const { stdout } = await execa(programs.helm, [
    ...['template', 'berth', chart, '--namespace', 'ondemand', '--no-hooks', ...newest],
    ...args,
  ]);
  return stdout;
}

async function refusal(...args: string[]): Promise<string> {
  const { exitCode, stderr } = await execa(
    programs.helm,
    ['template', 'berth', chart, '--namespace', 'ondemand', ...newest, ...args],
    { reject: false },
  );
  expect(exitCode).toBe(1);
  return stderr;
}

async function kustomize(components: readonly string[], more: object = {}): Promise<string> {
  const own = await mkdtemp(join(directory, 'kustomization-'));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    components: components.map((one) => relative(own, join(manifests, one))),
    images: [{ name: 'registry.example.org/berth', newTag: '0.1.0' }],
    ...more,
  };
  await writeFile(join(own, 'kustomization.yaml'), stringify(kustomization));
  const { exitCode, stdout, stderr } = await site.kubectl(['kustomize', own]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout;
}

const defaults = ['hook', 'roles', 'guard'];
const switches: Readonly<Record<string, string>> = {
  admission: 'admission',
  reaper: 'reaper',
  'ldap-sync': 'ldapSync',
  'ldap-config-maps': 'ldapConfigMaps',
  'ssh-sessions': 'sshSessions',
  'ssh-sessions-list': 'sshSessionsList',
  'service-account-tokens': 'serviceAccountTokens',
  jupyterhub: 'jupyterhub',
  'user-roles': 'userRoles',
  'volume-claims': 'volumeClaims',
  monitoring: 'monitoring',
  pages: 'pages',
  'log-aggregator': 'logAggregator',
  'ssh-balancer': 'sshBalancer',
};
const on = (components: readonly string[]): string[] => [
  ...['--set', 'createNamespace=true'],
  ...components.flatMap((one) => ['--set', `${switches[one] ?? one}.enabled=true`]),
];

describe.each([
  ['the defaults', []],
  ...Object.keys(switches).map((one) => [one, [one]] as const),
  ['a site with everything', Object.keys(switches)],
] as const)('%s', (_, components) => {
  it('are the same objects from Helm and from Kustomize', async () => {
    const built = objectsIn(await kustomize([...defaults, ...components]));

    expect(objectsIn(await template(...on(components)))).toEqual(built);
    expect(built.size).toBeGreaterThan(7);
  });
});

it('has the objects that Kustomize makes with the values of a site', async () => {
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
  const cronJob = (path: string, value: unknown): object => ({ op: 'replace', path, value });
  const made = await template(
    ...['--set', 'createNamespace=true,roles.enabled=false,reaper.enabled=true'],
    ...['--set', `image.repository=registry.example.org/hpc/berth,image.digest=${digest}`],
    ...['--set', 'reaper.suspend=false,reaper.schedule=1 * * * *,reaper.args={--unused-after,60d}'],
    ...['--set', 'monitoring.enabled=true,monitoring.labels.release=kube-prometheus-stack'],
    ...['--set', 'hook.pullSecrets={ours,theirs},imagePullSecrets[0].name=registry'],
  );
  const container = '/spec/jobTemplate/spec/template/spec/containers/0';
  const built = await kustomize(['hook', 'guard', 'reaper', 'monitoring'], {
    images: [
      { name: 'registry.example.org/berth', newName: 'registry.example.org/hpc/berth', digest },
    ],
    patches: [
      {
        target: { kind: 'CronJob' },
        patch: stringify([
          cronJob('/spec/suspend', false),
          cronJob('/spec/schedule', '1 * * * *'),
          { op: 'add', path: `${container}/command/-`, value: '--unused-after' },
          { op: 'add', path: `${container}/command/-`, value: '60d' },
          {
            ...{ op: 'add', path: '/spec/jobTemplate/spec/template/spec/imagePullSecrets' },
            value: [{ name: 'registry' }],
          },
        ]),
      },
      {
        target: { kind: 'ClusterRole', name: 'berth-hook' },
        patch: stringify([cronJob('/rules/5/resourceNames', ['ours', 'theirs'])]),
      },
      {
        target: { group: 'monitoring.coreos.com' },
        patch: stringify([
          { op: 'add', path: '/metadata/labels/release', value: 'kube-prometheus-stack' },
        ]),
      },
    ],
  });

  expect(objectsIn(made)).toEqual(objectsIn(built));
});

it('is everywhere in the namespace of its release', async () => {
  const { stdout } = await execa(programs.helm, [
    ...['template', 'berth', chart, '--namespace', 'hpc', ...newest, ...on(Object.keys(switches))],
  ]);

  expect(stdout).not.toMatch(/namespace: ondemand$|serviceaccount:ondemand:/m);
});

it('is valid for the API server, field by field', async () => {
  const schemas = await writeApiSchemas(site, join(directory, 'schemas'));
  const file = join(directory, 'all.yaml');
  await writeFile(file, await template(...on(Object.keys(switches))));
  const conform = (input: string): Promise<{ stdout: string; exitCode?: number }> =>
    execa(
      programs.kubeconform,
      // The kinds of MetalLB and of the Prometheus operator are not those of the API server.
      [
        '-schema-location',
        schemas,
        '-skip',
        'IPAddressPool,L2Advertisement,PodMonitor,PrometheusRule',
        '-output=json',
        input,
      ],
      { reject: false },
    );

  expect(JSON.parse((await conform(file)).stdout)).toMatchObject({ resources: [] });

  await writeFile(
    file,
    'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: a, nmespace: b }\n',
  );
  expect((await conform(file)).stdout).toContain('nmespace');
});

const gitops = new URL('../../../etc/gitops/', import.meta.url).pathname;

interface WithValues {
  /** helmfile. */
  readonly releases?: readonly { readonly name: string; readonly values?: readonly object[] }[];
  readonly spec?: {
    /** Flux's HelmRelease. */
    readonly values?: object;
    /** StackHPC's HelmRelease. */
    readonly valuesSources?: readonly { readonly template: string }[];
    /** HelmChartProxy. */
    readonly valuesTemplate?: string;
    /** Argo CD's Application. */
    readonly source?: { readonly helm: { readonly valuesObject: object } };
  };
  /** capi-helm-charts. */
  readonly addons?: {
    readonly custom: { readonly berth: { readonly spec: { readonly values: object } } };
  };
}

it.each([
  'cluster-api/stackhpc.yaml',
  'cluster-api/helm-chart-proxy.yaml',
  'cluster-api/capi-helm-charts-values.yaml',
  'argo-cd/berth.yaml',
  'flux/helm-release.yaml',
  'helmfile.yaml',
])('takes the values of etc/gitops/%s', async (file) => {
  const [first] = parseAllDocuments(await readFile(gitops + file, 'utf8'));
  const { releases, addons, spec = {} } = first?.toJS() as WithValues;
  const { valuesSources, valuesTemplate, source } = spec;
  const ofRelease = releases?.find(({ name }) => name === 'berth')?.values?.[0];
  const values = join(directory, 'values.yaml');
  const inline = (valuesTemplate ?? valuesSources?.[0]?.template)?.replace(
    /\{\{ (?:cluster|\.Cluster)\.metadata\.name \}\}/,
    'research',
  );
  await writeFile(
    values,
    inline ??
      stringify(
        spec.values ?? ofRelease ?? addons?.custom.berth.spec.values ?? source?.helm.valuesObject,
      ),
  );

  const made = await template('--values', values);

  expect(made).toContain('image: registry.example.org/hpc/berth:0.1.0\n');
  expect(made).not.toContain('{{');
  if (inline !== undefined) expect(made).toContain('"cluster=\\"research\\""');
});

it('passes helm lint --strict', async () => {
  const { stdout } = await execa(programs.helm, [
    ...['lint', '--strict', chart, '--namespace', 'ondemand', ...on(Object.keys(switches))],
    ...newest,
  ]);
  expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
});

it.each([
  ['a key with a typing error', 'reaper.enable=true', "additional properties 'enable' not allowed"],
  ['a text for a switch', 'reaper.enabled=maybe', 'got string, want boolean'],
  ['a tag in the repository', 'image.repository=registry.example.org/berth:1', 'does not match'],
  ['a host that is a path', 'logAggregator.hosts={../x}', "at '/logAggregator/hosts/0'"],
  ['no pull secret', 'hook.pullSecrets={}', "at '/hook/pullSecrets/0': '' does not match"],
  ['a port that needs rights', 'sshBalancer.ports[0].targetPort=22', 'minimum: got 22, want 1'],
])('refuses %s', async (_, value, message) => {
  expect(await refusal('--set', value)).toContain(message);
});

it('refuses a forgotten namespace, and policies that the cluster cannot have', async () => {
  expect(await refusal('--namespace', 'default')).toContain('--namespace ondemand');
  expect(await refusal('--set', 'admission.enabled=true', '--kube-version', '1.35.4')).toContain(
    'needs Kubernetes 1.36, and this is v1.35.4',
  );
});
