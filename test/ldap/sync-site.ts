import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { publicFolder } from '../site/folders.ts';
import { LiveCluster, type Live } from '../site/live-cluster.ts';
import { hookKubeconfig, installed } from '../site/portal.ts';
import type { Site } from '../site/site.ts';
import { base, reader, type Slapd } from './slapd.ts';

export interface SyncResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `ldap` of berth.yml: what a test says over what every test wants. */
export type LdapSection = Readonly<Record<string, unknown>>;

const root = new URL('../../', import.meta.url).pathname;

/**
 * A host that runs `berth ldap-sync` against the site's cluster, with the rights of etc/kubernetes, and
 * namespaces that carry a label of this file alone: other tests' users are no business of its directory.
 */
export class SyncSite {
  readonly cluster: LiveCluster;
  readonly folder: string;
  readonly #site: Site;
  readonly #run: string;
  #tests = 0;
  #namespaces: string[] = [];

  private constructor(site: Site, folder: string) {
    this.#site = site;
    this.cluster = new LiveCluster(site);
    this.folder = folder;
    this.#run = folder.replace(/^.*-/, '').toLowerCase();
  }

  static async make(site: Site): Promise<SyncSite> {
    await mkdir(publicFolder, { recursive: true });
    const sync = new SyncSite(site, await mkdtemp(join(publicFolder, 'ldap-sync-')));
    await sync.cluster.kubectl(['apply', '-k', join(root, 'etc/kubernetes')]);
    for (const file of ['ldap-sync.yaml', 'ldap-config-maps.yaml'])
      await sync.cluster.kubectl(['apply', '-f', join(root, 'etc/kubernetes', file)]);
    await mkdir(join(sync.folder, 'clusters.d'));
    const account = { namespace: 'ondemand', name: 'berth-ldap-sync' };
    const kubeconfig = await hookKubeconfig(site, site.server, account);
    await writeFile(join(sync.folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    const job = { adapter: 'kubernetes', auth: { type: 'managed' } };
    const server = { endpoint: site.server, cert_authority_file: site.ca.file };
    const file = { v2: { metadata: { title: 'prod' }, job: { ...job, server } } };
    await writeFile(join(sync.folder, 'clusters.d/prod.yml'), stringify(file));
    await sync.forget();
    return sync;
  }

  /** Makes `berth.yml`: the reader of this slapd, by ldaps, unless the test says otherwise. */
  async configure(slapd: Slapd, ldap: LdapSection = {}, more: object = {}): Promise<void> {
    const { users = {}, groups = {}, ...rest } = ldap as Record<string, object | undefined>;
    const section = {
      url: `ldaps://127.0.0.1:${slapd.ports.ldaps}`,
      ca_file: this.#site.ca.file,
      bind_dn: reader.dn,
      bind_password_file: slapd.passwordFile,
      page_size: 50,
      namespace_selector: this.selector,
      users: { base: `ou=people,${base}`, ...users },
      groups: { base: `ou=groups,${base}`, ...groups },
      ...rest,
    };
    const berth = {
      hook_env: null,
      clusters_dir: join(this.folder, 'clusters.d'),
      state_dir: join(this.folder, 'state'),
      defaults: { admin: { kubeconfig: join(this.folder, 'kubeconfig') } },
      ldap: section,
      ...more,
    };
    await writeFile(this.config, stringify(berth));
  }

  get run(): string {
    return `${this.#run}-${this.#tests}`;
  }

  get config(): string {
    return join(this.folder, 'berth.yml');
  }

  get selector(): string {
    return `app.kubernetes.io/name=open-ondemand,berth.dev/test=${this.run}`;
  }

  /** `berth ldap-sync …` with this configuration. */
  async sync(...args: string[]): Promise<SyncResult> {
    const { exitCode, stdout, stderr, shortMessage } = await execa(
      join(installed, 'berth'),
      ['ldap-sync', '--config', this.config, ...args],
      { reject: false, cwd: '/', input: '', timeout: 60_000 },
    );
    if (exitCode === undefined) throw new Error(shortMessage);
    return { exitCode, stdout, stderr };
  }

  /** The same for scripts. */
  async report(...args: string[]): Promise<SyncReport> {
    const { stdout, stderr } = await this.sync('-o', 'json', ...args);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as SyncReport;
  }

  /** The namespace's name; as the hook made it for this user at some time. */
  namespaceOf(user: string): string {
    return `ls-${this.run}-${user.toLowerCase().replace(/[^a-z0-9]/g, '-')}`;
  }

  async makeNamespaces(
    users: readonly string[],
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const namespaces = users.map((user) =>
      this.namespace(this.namespaceOf(user), {
        'openondemand.org/owner': user,
        'openondemand.org/last-hook-execution': '1700000000',
        ...annotations,
      }),
    );
    await this.cluster.create(...namespaces);
  }

  /** A Namespace as an object, which goes when the test file does. */
  namespace(name: string, annotations: Readonly<Record<string, string>>): object {
    this.#namespaces.push(name);
    const labels = { 'app.kubernetes.io/name': 'open-ondemand', 'berth.dev/test': this.run };
    return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, annotations } };
  }

  /** The annotations of a user's namespace without the prefix that they share. */
  async annotations(user: string): Promise<Readonly<Record<string, string>>> {
    const live = await this.cluster.get('namespace', this.namespaceOf(user));
    return shortened(live);
  }

  /** All of this file's namespaces: annotations by name. */
  async allAnnotations(): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
    const out = await this.cluster.kubectl(['get', 'ns', '-l', this.selector, '-o', 'json']);
    const { items } = JSON.parse(out) as { items: readonly Live[] };
    return new Map(items.map((live) => [live.metadata.name, shortened(live)]));
  }

  /** The numbers of the last run. */
  async forget(): Promise<void> {
    await this.cluster.kubectl([
      ...['-n', 'ondemand', 'delete', 'configmap', 'berth-ldap-sync', '--ignore-not-found'],
    ]);
  }

  /** Ends what a test made; the next one has a label of its own, and waits for nothing. */
  async clear(): Promise<void> {
    await this.cluster.deleteNamespaces(this.#namespaces);
    this.#namespaces = [];
    this.#tests += 1;
    await this.forget();
  }

  async remove(): Promise<void> {
    await this.cluster.deleteNamespaces(this.#namespaces);
    await this.forget();
    await rm(this.folder, { recursive: true });
  }
}

export interface SyncReport {
  readonly users: number;
  readonly groups: number;
  readonly refused: readonly { what: string; name: string; reason: string }[];
  readonly clusters: readonly {
    readonly cluster: string;
    readonly changes: readonly { namespace: string; kind: string; after: object }[];
    readonly unchanged: number;
    readonly ownerless: readonly string[];
    readonly held: readonly string[];
    readonly error?: { code: string };
  }[];
}

function shortened(live: Live | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(live?.metadata.annotations ?? {}).flatMap(([key, value]) =>
      key.startsWith('openondemand.org/') ? [[key.slice('openondemand.org/'.length), value]] : [],
    ),
  );
}
