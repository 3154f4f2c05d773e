import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureAccount, ensureAccounts, type Account } from './accounts.ts';
import type { LiveCluster } from './live-cluster.ts';
import { namespacePrefix } from './portal.ts';

/** An account without a namespace and with an empty home, as before its first login. */
export interface TestUser extends Account {
  /** The user's namespace, with the prefix that `Portal` configures. */
  readonly namespace: string;
}

/** The users of one test file. Their namespaces are removed at the end of the file. */
export class TestUsers {
  readonly #cluster: LiveCluster;
  readonly #namespaces = new Set<string>();

  constructor(cluster: LiveCluster) {
    this.#cluster = cluster;
  }

  /**
   * Creates an account with an empty home and without a namespace.
   *
   * @param name must not be used by another test
   * @param options.groups its supplementary groups
   */
  async create(name: string, options: { groups?: readonly string[] } = {}): Promise<TestUser> {
    const account = await ensureAccount(name, options);
    await this.#reset([account]);
    return { ...account, namespace: namespaceOf(account) };
  }

  /** Creates several accounts at once. */
  async createAll(names: readonly string[]): Promise<readonly TestUser[]> {
    return this.#reset(await ensureAccounts(names));
  }

  /** Adds namespaces that `removeNamespaces` removes too. */
  alsoRemove(...namespaces: readonly string[]): void {
    for (const namespace of namespaces) this.#namespaces.add(namespace);
  }

  /** Starts to delete the namespaces and does not wait. */
  async removeNamespaces(): Promise<void> {
    await this.#cluster.deleteNamespaces([...this.#namespaces]);
  }

  async #reset(accounts: readonly Account[]): Promise<readonly TestUser[]> {
    const people = accounts.map((account) => ({ ...account, namespace: namespaceOf(account) }));
    for (const { home } of people) {
      for (const file of await readdir(home)) await rm(join(home, file), { recursive: true });
    }
    const namespaces = people.map(({ namespace }) => namespace);
    this.alsoRemove(...namespaces);
    // Left by an earlier run.
    await this.#cluster.deleteNamespacesAndWait([...new Set(namespaces)]);
    return people;
  }
}

function namespaceOf({ name }: Account): string {
  return `${namespacePrefix}${name.replace(/[.@]/g, '-')}`;
}
