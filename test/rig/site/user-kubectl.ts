import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse } from 'yaml';
import {
  type CredentialCache,
  credentialCachePath,
} from '../../../src/credentials/credential-cache.ts';
import { type Account, commandAs } from './accounts.ts';
import type { KubectlResult, Site } from './site.ts';
import type { BrokerHost } from '../broker/broker-host.ts';

/** The fields of a kubeconfig that the tests read. */
export interface Kubeconfig {
  readonly users: readonly { readonly name: string; readonly user: Record<string, unknown> }[];
  readonly contexts: readonly { readonly name: string; readonly context: object }[];
  readonly 'current-context'?: string;
}

/** Runs kubectl as a user, with the user's home and without KUBECONFIG. */
export class UserKubectl {
  readonly #site: Site;
  readonly #account: Account;
  /** The host on which kubectl runs; default: this machine. */
  host: BrokerHost | undefined;

  constructor(site: Site, account: Account) {
    this.#site = site;
    this.#account = account;
  }

  get kubeconfigFile(): string {
    return join(this.#account.home, '.kube/config');
  }

  run(...args: readonly string[]): Promise<KubectlResult> {
    return this.runUnder([], ...args);
  }

  /** @param wrapper arguments before kubectl, for example of strace */
  async runUnder(wrapper: readonly string[], ...args: readonly string[]): Promise<KubectlResult> {
    const [program = '', ...programArgs] = [...wrapper, this.#site.kubectlPath, ...args];
    const { name, home } = this.#account;
    const line = commandAs(name, program, programArgs);
    const argv = [line.command, ...line.args];
    const [file = '', ...rest] = this.host?.enter(argv, home) ?? argv;
    const { exitCode, stdout, stderr } = await execa(file, rest, {
      reject: false,
      extendEnv: false,
      env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: home },
      cwd: home,
      stdin: 'ignore',
      timeout: 60_000,
    });
    return { exitCode: exitCode ?? -1, stdout, stderr };
  }

  /** The user name that the API server sees; kubectl's stderr if it fails. */
  async whoami(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.run('auth', 'whoami', '-o', 'json', ...args);
    if (exitCode !== 0) return stderr;
    const review = JSON.parse(stdout) as { status: { userInfo: { username: string } } };
    return review.status.userInfo.username;
  }

  async kubeconfig(): Promise<Kubeconfig> {
    return parse(await readFile(this.kubeconfigFile, 'utf8')) as Kubeconfig;
  }

  cacheFile(server = this.#site.server): string {
    return join(this.#account.home, credentialCachePath(server));
  }

  async cache(server?: string): Promise<CredentialCache> {
    return JSON.parse(await readFile(this.cacheFile(server), 'utf8')) as CredentialCache;
  }

  /** Removes the cached credential, so that the next request needs a new one. */
  async removeCredential(): Promise<void> {
    await rm(this.cacheFile());
  }

  /** Makes the cached token expire. */
  async expireToken(server?: string): Promise<void> {
    await expireCredential(this.cacheFile(server));
  }
}

/** Makes the credential in a cache file expire. */
export async function expireCredential(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/"expiry":\d+/, '"expiry":1000'));
}

/** Permission bits and owner as `0600 1000`. */
export async function modeAndOwner(file: string): Promise<string> {
  const { mode, uid } = await stat(file);
  return `0${(mode & 0o7777).toString(8)} ${uid}`;
}
