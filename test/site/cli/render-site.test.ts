import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let portal: Portal;
let parent: string;
let directory: string;

const image = 'registry.example.org/hpc/berth:0.1.0';
const asked = ['--image', image, '--components', 'admission', 'reaper'];

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site, {
    hookEnv: { IMAGE_PULL_SECRET: 'registry', USE_JOB_POD_REAPER: 'false' },
    clusters: { prod: {}, test: {} },
    berth: {
      clusters: {
        test: {
          job_pod_reaper: true,
          credentials: { mode: 'service-account' },
          jupyterhub: { namespace: 'notebooks', service_account: 'hub' },
          user_roles: ['ours', 'theirs'],
          volume_claims: [{ name: 'home', size: '1Gi' }],
        },
      },
    },
  });
  parent = await mkdtemp(join(tmpdir(), 'berth-site-'));
  directory = join(parent, 'clusters');
});
afterAll(async () => {
  await rm(parent, { recursive: true });
  await portal.remove();
});

const render = (...args: string[]) => portal.berth('render', 'site', directory, ...args);
const textOf = (path: string): Promise<string> => readFile(join(directory, path), 'utf8');

interface Made {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly { readonly resourceNames?: readonly string[] }[];
  readonly spec?: { readonly suspend?: boolean };
}

async function built(cluster: string): Promise<readonly Made[]> {
  const { exitCode, stdout, stderr } = await site.kubectl([
    'kustomize',
    join(directory, 'clusters', cluster),
  ]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return parseAllDocuments(stdout).map((one) => one.toJS() as Made);
}

it('writes a repository that kubectl builds, with the components of each cluster', async () => {
  const { exitCode, stdout, stderr } = await render(...asked);
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toContain('clusters/prod/kustomization.yaml: new\n');

  const prod = await built('prod');
  const reaper = prod.find(({ kind }) => kind === 'CronJob');
  expect(reaper?.metadata.name).toBe('berth-reaper');
  expect(reaper?.spec?.suspend).toBe(false);
  expect(JSON.stringify(reaper)).toContain(`"image":"${image}"`);
  const hook = prod.find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'berth-hook',
  );
  expect(hook?.rules?.flatMap(({ resourceNames = [] }) => resourceNames)).toContain('registry');
  expect(JSON.stringify(hook)).not.toContain('ondemand-pull-secret');
  expect(prod.map(({ kind }) => kind)).toContain('MutatingAdmissionPolicy');
  expect(prod.map(({ kind }) => kind)).not.toContain('Secret');

  const test = await built('test');
  expect(test.map(({ kind }) => kind)).not.toContain('CronJob');
  expect(await textOf('clusters/test/berth/kustomization.yaml')).toContain(
    'service-account-tokens',
  );
  expect(test.map(({ metadata }) => metadata.name)).toContain('berth-hook-volume-claims');
  expect(prod.map(({ metadata }) => metadata.name)).not.toContain('berth-hook-volume-claims');
  const extra = test.find(({ metadata }) => metadata.name === 'berth-hook-user-roles');
  expect(extra?.rules).toMatchObject([{ resourceNames: ['ours', 'theirs'] }]);
  const guard = test.find(({ metadata }) => metadata.name === 'berth-jupyterhub-guard');
  expect(guard?.spec).toMatchObject({
    variables: [{ expression: "'notebooks'" }, { expression: "'hub'" }],
  });

  const flux = parseAllDocuments(await textOf('flux/test.yaml')).map((one) => one.toJS() as object);
  expect(flux).toMatchObject([{ kind: 'GitRepository' }, { spec: { path: './clusters/test' } }]);
  const [rule] = (parse(await textOf('.sops.yaml')) as { creation_rules: object[] }).creation_rules;
  expect(rule).toMatchObject({ encrypted_regex: '^(data|stringData)$' });
});

it('changes nothing the second time, and keeps what is the admin’s', async () => {
  expect((await render(...asked)).stdout).toMatch(/^nothing to change\n/);

  const own = 'clusters/prod/kustomization.yaml';
  await writeFile(join(directory, own), `${await textOf(own)}namePrefix: ours-\n`);
  const { stdout } = await render(...asked, 'monitoring');

  expect(stdout).toContain(`${own}: kept, it is yours\n`);
  expect(stdout).toContain('clusters/prod/berth/kustomization.yaml: changed\n');
  expect(await textOf(own)).toContain('namePrefix: ours-\n');
});

it('removes what is no longer wanted', async () => {
  const { stdout } = await render('--components', 'reaper', '--image', image);

  expect(stdout).toContain('berth/admission/policies.yaml: removed\n');
  await expect(textOf('berth/admission/policies.yaml')).rejects.toThrow('ENOENT');
  await built('prod');
});

it('refuses to overwrite what somebody edited, and then writes nothing', async () => {
  const hook = 'berth/hook/hook.yaml';
  const before = await textOf(hook);
  await writeFile(join(directory, hook), `${before}# ours\n`);

  const { exitCode, stdout, stderr } = await render(...asked);

  expect({ exitCode, stdout }).toEqual({ exitCode: 78, stdout: '' });
  expect(stderr).toContain(`${hook} in ${directory} is not as Berth wrote it`);
  expect(stderr).toContain('[site-file-edited]');
  await expect(textOf('berth/admission/policies.yaml')).rejects.toThrow('ENOENT');
  await writeFile(join(directory, hook), before);
});

it('writes for Argo CD, for one cluster, and not through a symlink', async () => {
  const other = join(parent, 'other');
  const args = [
    '--gitops',
    'argo-cd',
    '--cluster',
    'test',
    '--git-url',
    'https://git.example.com/x',
  ];
  expect(await portal.berth('render', 'site', other, ...args)).toMatchObject({ exitCode: 0 });
  const application = parse(await readFile(join(other, 'argo-cd/test.yaml'), 'utf8')) as object;
  expect(application).toMatchObject({
    spec: { source: { repoURL: 'https://git.example.com/x', path: 'clusters/test' } },
  });

  const linked = join(parent, 'linked');
  await mkdir(linked);
  await symlink(other, join(linked, 'clusters'));
  const { exitCode, stderr } = await portal.berth('render', 'site', linked);
  expect(exitCode).toBe(78);
  expect(stderr).toContain('[site-directory-unsafe]');
});

it.each([
  [['--image', 'registry.example.org/hpc/berth'], 'has no tag'],
  [['--user', 'alice'], 'unknown option --user'],
  [['--components', 'everything'], '--components everything: must be admission or'],
])('refuses %s', async (args, message) => {
  const { exitCode, stderr } = await render(...args);
  expect(exitCode).toBe(64);
  expect(stderr).toContain(message);
});
