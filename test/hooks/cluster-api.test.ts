import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { LiveCluster } from '../site/live-cluster.ts';
import { Newcomers } from '../site/newcomers.ts';
import { hookKubeconfig, Portal } from '../site/portal.ts';
import { openSite, type Site } from '../site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: Newcomers;
let portal: Portal;

/** The namespace of the management cluster, where Cluster API keeps its secrets. */
const fleet = 'berth-test-fleet';

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new Newcomers(cluster);
  await cluster.namespacesGone([fleet]);
  newcomers.remember(fleet);
  await cluster.kubectl(['create', 'namespace', fleet]);
  portal = await Portal.make(site, { clusters: { research: { auth: { type: 'managed' } } } });
  const management = join(portal.folder, 'management');
  await writeFile(management, await managementKubeconfig(), { mode: 0o600 });
  const cluster_api = { kubeconfig: management, namespace: fleet, cluster: 'research' };
  // `defaults.admin` of a portal would stand beside it.
  await portal.writeBerth({
    defaults: { admin: undefined },
    clusters: { research: { admin: { cluster_api } } },
  });
});

afterAll(async () => {
  await newcomers.leave();
  await portal.remove();
});

/** Root's way into the management cluster: one account that may read this one secret. */
async function managementKubeconfig(): Promise<string> {
  const account = `${fleet}:reader`;
  await cluster.kubectl(['create', 'serviceaccount', 'reader', '-n', fleet]);
  await cluster.kubectl([
    ...['create', 'role', 'reader', '-n', fleet, '--verb=get', '--resource=secrets'],
    '--resource-name=research-kubeconfig',
  ]);
  await cluster.kubectl([
    ...['create', 'rolebinding', 'reader', '-n', fleet, '--role=reader'],
    `--serviceaccount=${account}`,
  ]);
  const token = await cluster.kubectl(['create', 'token', 'reader', '-n', fleet]);
  return withToken(await hookKubeconfig(site), token.trim());
}

function withToken(kubeconfig: string, token: string): string {
  return stringify({
    ...(parse(kubeconfig) as object),
    users: [{ name: 'berth-hook', user: { token } }],
  });
}

/** As Cluster API writes it: certificates inline. */
async function rotate(kubeconfig: string): Promise<void> {
  const inline = {
    ...(parse(kubeconfig) as object),
    clusters: [
      {
        name: 'c',
        cluster: {
          server: site.server,
          'certificate-authority-data': Buffer.from(site.ca.pem).toString('base64'),
        },
      },
    ],
  };
  await cluster.kubectl(
    ['apply', '-f', '-'],
    stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'research-kubeconfig', namespace: fleet },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: stringify(inline) },
    }),
  );
}

describe("a cluster's kubeconfig that Cluster API keeps in the management cluster", () => {
  it('is what the hook takes, and each login takes the present one', async () => {
    const { name, namespace } = await newcomers.come('capi-ann');
    await rotate(await hookKubeconfig(site));
    expect((await portal.prePun(name)).stderr).toContain('msg="namespace created"');
    expect(await cluster.get('rolebinding', `${name}-ood-user`, namespace)).toBeDefined();

    await rotate(withToken(await hookKubeconfig(site), 'no-longer-good'));
    const expired = await portal.prePun(name);
    expect(expired.exitCode).toBe(78);
    expect(expired.stderr).toMatch(/code=api-unauthorized .*cluster=research/);

    await rotate(await hookKubeconfig(site));
    expect((await portal.prePun(name)).stderr).toContain('msg="namespace kept"');
  });

  it('is missed by its name when it is not there', async () => {
    const { name } = await newcomers.come('capi-bea');
    await cluster.delete('secret', 'research-kubeconfig', fleet);

    const { exitCode, stderr } = await portal.prePun(name);

    expect(exitCode).toBeGreaterThan(1);
    expect(stderr).toContain(`${fleet}/research-kubeconfig`);
    expect(stderr).toMatch(/cluster=research .*hint="/);
  });
});
