import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { clusterApiCrds } from '../../rig/site/cluster-api/build.ts';
import {
  capiObjects,
  capiSecret,
  oidcArguments,
} from '../../rig/site/cluster-api/cluster-objects.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { type HookResult, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { TestUsers } from '../../rig/site/test-users.ts';

/** The namespaces of the Clusters. */
export const [fleet, other] = ['berth-test-capi', 'berth-test-capi-2'] as const;

/** A cluster as `berth clusters discover -o json` has it. */
export interface Change {
  readonly name: string;
  readonly change: string;
  readonly reason?: string;
}

/** The site's cluster as a management cluster of two tenants, and a portal that discovers their Clusters. */
export class Management {
  readonly site: Site;
  readonly cluster: LiveCluster;
  readonly newcomers: TestUsers;
  readonly portal: Portal;
  readonly caDir: string;

  private constructor(site: Site, cluster: LiveCluster, newcomers: TestUsers, portal: Portal) {
    this.site = site;
    this.cluster = cluster;
    this.newcomers = newcomers;
    this.portal = portal;
    this.caDir = join(portal.directory, 'cas');
  }

  static async open(): Promise<Management> {
    const site = await openSite();
    const cluster = new LiveCluster(site);
    const newcomers = new TestUsers(cluster);
    await cluster.deleteNamespacesAndWait([fleet, other]);
    newcomers.alsoRemove(fleet, other);
    await cluster.applyCrds(await crdArguments());
    for (const namespace of [fleet, other])
      await cluster.kubectl(['create', 'namespace', namespace]);
    return new Management(site, cluster, newcomers, await Portal.make(site, { clusters: {} }));
  }

  async close(): Promise<void> {
    await this.newcomers.removeNamespaces();
    await this.cluster.deleteCrds(await crdArguments());
    await this.portal.remove();
  }

  discover(...more: readonly string[]): Promise<HookResult> {
    return this.portal.berth(
      ...['clusters', 'discover', '--kubeconfig', this.site.adminKubeconfig],
      ...['--clusters-dir', this.portal.files.clustersDir, '--ca-dir', this.caDir, ...more],
    );
  }

  async changes(...more: readonly string[]): Promise<readonly Change[]> {
    const { stdout, stderr } = await this.discover('-o', 'json', ...more);
    expect(stdout, stderr).not.toBe('');
    return (berthDocument(stdout) as { clusters: readonly Change[] }).clusters;
  }

  async summary(...more: readonly string[]): Promise<readonly string[]> {
    return (await this.changes(...more)).map(({ name, change }) => `${name} ${change}`).sort();
  }

  /** The first tenant's Clusters have the site's audience, and those of the other one `tenant`. */
  async makeCluster(namespace: string, name: string, oidc = true): Promise<void> {
    const { site } = this;
    const own =
      namespace === fleet ? oidcArguments(site) : this.withArgument('oidc-client-id', 'tenant');
    await this.cluster.create(...capiObjects({ namespace, name }, oidc ? own : undefined));
  }

  withArgument(name: string, value: string): ReturnType<typeof oidcArguments> {
    return oidcArguments(this.site).map((one) => (one.name === name ? { name, value } : one));
  }

  async keepKubeconfig(
    namespace: string,
    name: string,
    change = (text: string): string => text,
  ): Promise<void> {
    const kubeconfig = change(await readFile(this.site.adminKubeconfig, 'utf8'));
    await this.cluster.kubectl(['apply', '-f', '-'], capiSecret({ namespace, name }, kubeconfig));
  }

  async deleteCluster(namespace: string, name: string): Promise<void> {
    const others = [`kubeadmcontrolplane/${name}-cp`, `secret/${name}-kubeconfig`];
    await this.cluster.kubectl(['delete', '-n', namespace, `cluster/${name}`, ...others]);
  }
}

async function crdArguments(): Promise<readonly string[]> {
  return (await clusterApiCrds()).flatMap((file) => ['-f', file]);
}
