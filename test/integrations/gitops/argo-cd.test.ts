import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { argoApplicationCrd } from '../../rig/argo-cd/crds.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite } from '../../rig/site/site.ts';

const example = new URL('../../../etc/gitops/argo-cd/berth.yaml', import.meta.url).pathname;

let cluster: LiveCluster;
let crd: string;
let directory: string;

beforeAll(async () => {
  const site = await openSite();
  cluster = new LiveCluster(site);
  crd = await argoApplicationCrd();
  directory = await mkdtemp(join(tmpdir(), 'berth-argo-cd-'));
  await cluster.applyCrds(['-f', crd]);
  await cluster.kubectl(['create', 'namespace', 'argocd']);
}, 300_000);
afterAll(async () => {
  await cluster.deleteCrds(['-f', crd]);
  await cluster.deleteNamespaces(['argocd']);
  await rm(directory, { recursive: true });
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
