import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { capiObjects, oidcArguments } from '../../rig/site/cluster-api/cluster-objects.ts';
import { fleet, Management, other } from './management.ts';

interface Berth {
  readonly defaults?: { readonly credentials?: object };
  readonly clusters: Readonly<Record<string, { readonly credentials: object }>>;
}

let management: Management;
let audience: string;

beforeAll(async () => {
  management = await Management.open();
  audience = management.site.keycloak.client('kubernetes').id;
  await make(fleet, 'first');
  expect(await management.summary()).toEqual(['first new']);
});
afterAll(() => management.close(), 120_000);

async function make(namespace: string, name: string): Promise<void> {
  await management.makeCluster(namespace, name);
  await management.keepKubeconfig(namespace, name);
}
const berthYml = (): Promise<string> => readFile(management.portal.files.berth, 'utf8');
const reasonOf = async (cluster: string): Promise<string | undefined> =>
  (await management.changes()).find(({ name }) => name === cluster)?.reason;

describe('berth clusters discover skips a Cluster', () => {
  it("with the audience of another tenant's", async () => {
    const before = await berthYml();
    const { cluster, site } = management;
    await cluster.create(...capiObjects({ namespace: other, name: 'thief' }, oidcArguments(site)));
    await management.keepKubeconfig(other, 'thief');

    const { exitCode, stdout } = await management.discover();
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 78 });
    expect(stdout).toContain(
      `thief: skipped: its API servers take tokens with the audience ${audience}, which is that of first`,
    );
    expect(await berthYml()).toBe(before);
    expect(await management.summary('--dry-run', '--audience', audience)).toContain('thief new');
    await management.deleteCluster(other, 'thief');
  });

  it('that takes such an audience after it was accepted, and leaves its files', async () => {
    await make(other, 'later');
    expect(await management.summary()).toContain('later new');
    const extraArgs = oidcArguments(management.site);
    const spec = { kubeadmConfigSpec: { clusterConfiguration: { apiServer: { extraArgs } } } };
    await management.cluster.patch('kubeadmcontrolplane', 'later-cp', other, { spec });

    expect(await management.summary()).toEqual(['first unchanged', 'later skipped']);
    const { clusters } = parse(await berthYml()) as Berth;
    expect(clusters.later?.credentials).toMatchObject({ audience: 'tenant' });
    await management.deleteCluster(other, 'later');
    await management.discover();
  });

  it("with the audience of the site's own cluster", async () => {
    const { clustersDir, berth } = management.portal.files;
    const own = join(clustersDir, 'own.yaml');
    await writeFile(own, 'v2: { job: { auth: { type: oidc } } }\n');
    await make(other, 'thief');
    const before = await berthYml();
    const { defaults, clusters } = parse(before) as Berth;
    const standard = { credentials: { ...defaults?.credentials, audience: 'tenant' } };
    const entry = { own: { credentials: { audience: 'tenant' } } };
    for (const changed of [
      { defaults: { ...defaults, ...standard }, clusters },
      { defaults, clusters: { ...clusters, ...entry } },
    ]) {
      await writeFile(berth, stringify({ ...(parse(before) as Berth), ...changed }));
      expect(await reasonOf('thief')).toContain('the audience tenant, which is that of own');
    }
    await rm(own);
    await writeFile(berth, before);
    expect(await management.summary()).toEqual(['first unchanged', 'thief new']);
  });
});
