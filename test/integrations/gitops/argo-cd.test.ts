import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { argoApplicationCrd } from '../../rig/argo-cd/crds.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

const example = new URL('../../../etc/gitops/argo-cd/berth.yaml', import.meta.url).pathname;

let cluster: LiveCluster;
let portal: Portal;
let crd: string;
let directory: string;

beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  portal = await Portal.make(site);
  crd = await argoApplicationCrd();
  directory = await mkdtemp(join(tmpdir(), 'berth-argo-cd-'));
  await cluster.applyCrds(['-f', crd]);
  await cluster.kubectl(['create', 'namespace', 'argocd']);
}, 300_000);
afterAll(async () => {
  await cluster.deleteCrds(['-f', crd]);
  await cluster.deleteNamespaces(['argocd']);
  await rm(directory, { recursive: true });
  await portal.remove();
});

/** With the default of kubectl, an unknown field is an error. */
const apply = (file: string): Promise<string> =>
  cluster.kubectl(['apply', '--dry-run=server', '-f', file]);

it('takes the example', async () => {
  expect(await apply(example)).toMatch(/application\S* ?\S*berth created/);

  const typo = join(directory, 'typo.yaml');
  await writeFile(typo, (await readFile(example, 'utf8')).replace('selfHeal', 'selfheal'));
  await expect(apply(typo)).rejects.toThrow('unknown field "spec.syncPolicy.automated.selfheal"');
});

it('takes what `berth render site` writes', async () => {
  const made = join(directory, 'site');
  const url = 'https://git.example.org/hpc/clusters.git';
  const args = ['--gitops', 'argo-cd', '--git-url', url];
  const { exitCode, stderr } = await portal.berth('render', 'site', made, ...args);
  expect([exitCode, stderr]).toEqual([0, '']);

  expect(await readdir(join(made, 'argo-cd'))).toEqual(['prod.yaml']);
  expect(await apply(join(made, 'argo-cd/prod.yaml'))).toContain('created');
});
