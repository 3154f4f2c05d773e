import { berthDocument } from '../../rig/berth-document.ts';
import type { LiveObject, LiveCluster } from '../../rig/site/live-cluster.ts';
import type { HookResult } from '../../rig/site/portal.ts';
import type { Site } from '../../rig/site/site.ts';
import { TimerHost } from '../../rig/site/timer-host.ts';
import { baseDn, readerAccount, type Slapd } from '../../rig/slapd.ts';

/** `ldap` of berth.yml: what a test says over what every test wants. */
export type LdapSection = Readonly<Record<string, unknown>>;

/** A host that runs `berth ldap-sync` with the rights of etc/kubernetes/ldap-sync. */
export class SyncSite {
  readonly #host: TimerHost;

  private constructor(host: TimerHost) {
    this.#host = host;
  }

  static async make(site: Site): Promise<SyncSite> {
    const components = ['ldap-sync', 'ldap-config-maps'];
    const account = 'berth-ldap-sync';
    const host = await TimerHost.create(site, { name: 'ldap-sync', account, components });
    const sync = new SyncSite(host);
    await sync.forget();
    return sync;
  }

  get cluster(): LiveCluster {
    return this.#host.cluster;
  }

  get directory(): string {
    return this.#host.directory;
  }

  /** Makes `berth.yml`: the reader of this slapd, by ldaps, unless the test says otherwise. */
  async configure(slapd: Slapd, ldap: LdapSection = {}, more: object = {}): Promise<void> {
    const { users = {}, groups = {}, ...rest } = ldap as Record<string, object | undefined>;
    const section = {
      url: `ldaps://127.0.0.1:${slapd.ports.ldaps}`,
      ca_file: this.#host.site.ca.file,
      bind_dn: readerAccount.dn,
      bind_password_file: slapd.passwordFile,
      page_size: 50,
      namespace_selector: this.selector,
      users: { base: `ou=people,${baseDn}`, ...users },
      groups: { base: `ou=groups,${baseDn}`, ...groups },
      ...rest,
    };
    await this.#host.configure({ ldap: section, ...more });
  }

  get selector(): string {
    return this.#host.selector;
  }

  /** `berth ldap-sync …` with this configuration. */
  sync(...args: string[]): Promise<HookResult> {
    return this.#host.berth('ldap-sync', ...args);
  }

  /** The same for scripts. */
  async report(...args: string[]): Promise<SyncReport> {
    const { stdout, stderr } = await this.sync('-o', 'json', ...args);
    if (stdout === '') throw new Error(stderr);
    return berthDocument(stdout) as SyncReport;
  }

  /** The namespace's name; as the hook made it for this user at some time. */
  namespaceOf(user: string): string {
    return `ls-${this.#host.label}-${user.toLowerCase().replace(/[^a-z0-9]/g, '-')}`;
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
    return this.#host.namespace(name, annotations);
  }

  /** The annotations of a user's namespace without the prefix that they share. */
  async annotations(user: string): Promise<Readonly<Record<string, string>>> {
    const live = await this.cluster.get('namespace', this.namespaceOf(user));
    return shortened(live);
  }

  /** All of this file's namespaces: annotations by name. */
  async allAnnotations(): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
    const out = await this.cluster.kubectl(['get', 'ns', '-l', this.selector, '-o', 'json']);
    const { items } = JSON.parse(out) as { items: readonly LiveObject[] };
    return new Map(items.map((live) => [live.metadata.name, shortened(live)]));
  }

  /** The numbers of the last run. */
  async forget(): Promise<void> {
    await this.cluster.kubectl([
      ...['-n', 'ondemand', 'delete', 'configmap', 'berth-ldap-sync', '--ignore-not-found'],
    ]);
  }

  /** Ends what a test made. */
  async clear(): Promise<void> {
    await this.#host.clear();
    await this.forget();
  }

  async remove(): Promise<void> {
    await this.#host.remove();
    await this.forget();
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

function shortened(live: LiveObject | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(live?.metadata.annotations ?? {}).flatMap(([key, value]) =>
      key.startsWith('openondemand.org/') ? [[key.slice('openondemand.org/'.length), value]] : [],
    ),
  );
}
