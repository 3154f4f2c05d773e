import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureAccount, ensureAccounts, type Account } from './accounts.ts';
import type { LiveCluster } from './live-cluster.ts';
import { namespacePrefix } from './portal.ts';

/** An account that never logged in at the portal. */
export interface Newcomer extends Account {
  /** Where the hook puts its objects, with the prefix of a `Portal`. */
  readonly namespace: string;
}

/** The people of one test file: each is new when it comes, and what was made for it ends with the file. */
export class Newcomers {
  readonly #cluster: LiveCluster;
  readonly #namespaces = new Set<string>();

  constructor(cluster: LiveCluster) {
    this.#cluster = cluster;
  }

  /**
   * An account with an empty home and no namespace.
   *
   * @param name one that no other test uses
   * @param options.groups its supplementary groups
   */
  async come(name: string, options: { groups?: readonly string[] } = {}): Promise<Newcomer> {
    const account = await ensureAccount(name, options);
    await this.#anew([account]);
    return { ...account, namespace: namespaceOf(account) };
  }

  /** Several at once. */
  async comeAll(names: readonly string[]): Promise<readonly Newcomer[]> {
    return this.#anew(await ensureAccounts(names));
  }

  /** Has this namespace removed at the end too. */
  remember(...namespaces: readonly string[]): void {
    for (const namespace of namespaces) this.#namespaces.add(namespace);
  }

  /** Removes the namespaces; nobody waits for it. */
  async leave(): Promise<void> {
    await this.#cluster.deleteNamespaces([...this.#namespaces]);
  }

  async #anew(accounts: readonly Account[]): Promise<readonly Newcomer[]> {
    const people = accounts.map((account) => ({ ...account, namespace: namespaceOf(account) }));
    for (const { home } of people) {
      for (const file of await readdir(home)) await rm(join(home, file), { recursive: true });
    }
    const namespaces = people.map(({ namespace }) => namespace);
    this.remember(...namespaces);
    // What an earlier run left behind.
    await this.#cluster.namespacesGone([...new Set(namespaces)]);
    return people;
  }
}

function namespaceOf({ name }: Account): string {
  return `${namespacePrefix}${name.replace(/[.@]/g, '-')}`;
}
