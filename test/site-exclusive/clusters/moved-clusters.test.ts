import { copyFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capiObjects, oidcArguments } from '../../rig/site/cluster-api/cluster-objects.ts';
import { fleet, Management } from './management.ts';

let management: Management;

beforeAll(async () => {
  management = await Management.open();
});
afterAll(() => management.close(), 120_000);

/** Every file that discover wrote, with its text. */
async function written(): Promise<ReadonlyMap<string, string>> {
  const { portal, caDir } = management;
  const directories = [portal.files.clustersDir, caDir];
  const names = await Promise.all(directories.map((one) => readdir(one)));
  const paths = directories.flatMap((one, index) => names[index]?.map((name) => join(one, name)));
  const files = [portal.files.berth, ...paths.filter((path) => path !== undefined)];
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const)),
  );
}

const patch = (name: string, spec: object): Promise<void> =>
  management.cluster.patch('cluster.cluster.x-k8s.io', name, fleet, { spec });

describe('a Cluster of a ClusterClass', () => {
  const name = 'classy';

  it('is skipped while its controller has not made its control plane', async () => {
    const { cluster } = management;
    await cluster.create({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name, namespace: fleet },
      spec: { topology: { classRef: { name: 'site' }, version: 'v1.36.0' } },
    });

    expect(await management.changes('--dry-run')).toMatchObject([
      { name, change: 'skipped', reason: 'it has no Secret with its kubeconfig yet' },
    ]);
  });

  it('is found with the OIDC settings of the control plane, which has a name of its own', async () => {
    const { cluster, site } = management;
    const generated = { namespace: fleet, name: `${name}-x7k2p` };
    const [controlPlane = {}] = capiObjects(generated, oidcArguments(site));
    await cluster.create(controlPlane);
    const group = 'controlplane.cluster.x-k8s.io';
    await patch(name, {
      controlPlaneEndpoint: { host: '127.0.0.1', port: 6443 },
      controlPlaneRef: {
        ...{ apiGroup: group, kind: 'KubeadmControlPlane', name: `${generated.name}-cp` },
      },
    });
    await management.keepKubeconfig(fleet, name);

    expect(await management.changes()).toMatchObject([
      { name, change: 'new', credentials: 'oidc' },
    ]);
    expect((await written()).get(management.portal.files.berth)).toContain('cluster: classy');
    await cluster.kubectl(['delete', '-n', fleet, `cluster/${name}`]);
    expect(await management.summary('--allow-none')).toEqual([`${name} removed`]);
  });
});

describe('a Cluster that clusterctl moves', () => {
  const name = 'pivoted';

  it('keeps its files while it is paused, and while its Secret is on the way', async () => {
    await management.makeCluster(fleet, name);
    await management.keepKubeconfig(fleet, name);
    expect(await management.summary()).toEqual([`${name} new`]);
    const before = await written();

    await patch(name, { paused: true });
    expect(await management.summary()).toEqual([`${name} unchanged`]);
    await management.cluster.delete('secret', `${name}-kubeconfig`, fleet);

    expect(await management.changes()).toMatchObject([
      { name, change: 'skipped', reason: 'it has no Secret with its kubeconfig yet' },
    ]);
    expect(await written()).toEqual(before);
  });

  it('is the same one after it was created again, with another UID', async () => {
    const { cluster } = management;
    const before = await written();
    await cluster.kubectl([
      ...['delete', '-n', fleet, `cluster/${name}`, `kubeadmcontrolplane/${name}-cp`],
    ]);
    // The management cluster that all Clusters have left.
    const { exitCode, stderr } = await management.discover();
    expect([exitCode, stderr]).toEqual([78, expect.stringContaining('[clusters-all-gone]')]);
    expect(await written()).toEqual(before);

    await management.makeCluster(fleet, name);
    await management.keepKubeconfig(fleet, name);

    expect(await management.summary()).toEqual([`${name} unchanged`]);
    expect(await written()).toEqual(before);
  });

  it('follows the kubeconfig of the new management cluster', async () => {
    const { portal, site, caDir } = management;
    const kubeconfig = join(portal.directory, 'new-management');
    await copyFile(site.adminKubeconfig, kubeconfig);
    const { stdout } = await portal.berth(
      ...['clusters', 'discover', '--kubeconfig', kubeconfig],
      ...['--clusters-dir', portal.files.clustersDir, '--ca-dir', caDir],
    );

    expect(stdout).toContain(`${name}: changed`);
    expect((await written()).get(portal.files.berth)).toContain(`kubeconfig: ${kubeconfig}`);
  });
});
