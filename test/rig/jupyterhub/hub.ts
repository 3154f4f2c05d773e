import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensureAccount, type Account } from '../site/accounts.ts';
import { Browser, type Page } from '../site/browser.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { publicDirectory } from '../site/directories.ts';
import { freePorts } from '../free-ports.ts';
import { hookKubeconfig, installDirectory, type Portal } from '../site/portal.ts';
import { waitFor } from '../wait-for.ts';
import type { SshHost } from '../login-node/ssh-host.ts';
import { python } from '../python-environment.ts';
import { hubEnvironment, hubPackage } from './hub-environment.ts';
import { HubUser } from './hub-user.ts';

const proxy = new URL(
  '../../../node_modules/configurable-http-proxy/bin/configurable-http-proxy',
  import.meta.url,
).pathname;

export interface HubOptions {
  /** Whose berth.yml hub-bootstrap reads, and where the hub has its account in the cluster; absent: no cluster. */
  readonly portal?: Portal;
  /** False if something else answers at the socket that `config` names. */
  readonly bootstrap?: false;
  /** False for a hub that starts no server, and needs no account in the cluster. */
  readonly spawns?: boolean;
  /** A host that the hub runs on, whose accounts include `test-hub`; default: the machine. */
  readonly host?: SshHost;
  /** What `berth render jupyterhub` printed. */
  readonly config: string;
  /** Files that the hub reads and nobody else, by name in `secretIn`. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Whether the proxy is a service of its own, which goes on without the hub. */
  readonly ownProxy?: boolean;
  /** Further lines of jupyterhub_config.py. */
  readonly lines?: readonly string[];
  /** The machine's address for servers that the hub starts. */
  readonly address: string;
}

/** A JupyterHub on this machine with an account of its own, and hub-bootstrap at a socket that only its group may use. */
export class Hub {
  readonly url: string;
  readonly directory: string;
  readonly #options: HubOptions;
  readonly #account: Account;
  readonly #software: string;
  readonly #token: string;
  readonly #proxyApi: string;
  #processes: ChildProcess[] = [];

  private constructor(
    options: HubOptions,
    own: {
      readonly directory: string;
      readonly account: Account;
      readonly software: string;
      readonly ports: Readonly<Record<'public' | 'proxy', number>>;
      readonly token: string;
    },
  ) {
    this.#options = options;
    this.#account = own.account;
    this.#software = own.software;
    this.#token = own.token;
    this.directory = own.directory;
    this.url = `http://127.0.0.1:${own.ports.public}`;
    this.#proxyApi = `http://127.0.0.1:${own.ports.proxy}`;
  }

  /** Where `config` must have the socket of hub-bootstrap. */
  static socketIn(directory: string): string {
    return join(directory, 'hub.sock');
  }

  /** Path of a secret of the hub. */
  static secretIn(directory: string, name: string): string {
    return join(directory, 'state', name);
  }

  static async makeDirectory(): Promise<string> {
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, 'hub-'));
    await chmod(directory, 0o755);
    return directory;
  }

  /** Starts the hub and waits until it answers. */
  static async start(directory: string, options: HubOptions): Promise<Hub> {
    await ensurePackages(['socat']);
    const software = await hubEnvironment();
    const account = await ensureAccount('test-hub');
    const ports = await freePorts(['public', 'api', 'proxy']);
    const token = randomBytes(16).toString('hex');
    const hub = new Hub(options, { directory, account, software, ports, token });
    const state = join(directory, 'state');
    await mkdir(state);
    await chown(state, account.uid, account.gid);
    const secrets: Record<string, string> = { ...options.secrets };
    if (options.portal !== undefined && options.spawns !== false) {
      const { site } = options.portal;
      const serviceAccount = { namespace: 'jupyterhub', name: 'hub' };
      secrets.kubeconfig = await hookKubeconfig(site, site.server, serviceAccount);
    }
    for (const [name, text] of Object.entries(secrets)) {
      await writeFile(Hub.secretIn(directory, name), text, { mode: 0o600 });
      await chown(Hub.secretIn(directory, name), account.uid, account.gid);
    }
    await writeFile(
      join(directory, 'jupyterhub_config.py'),
      [
        'c = get_config()  # noqa: F821',
        options.config,
        `c.JupyterHub.bind_url = 'http://127.0.0.1:${ports.public}'`,
        // It runs when it has looked at all servers, however long that takes.
        'c.JupyterHub.init_spawners_timeout = -1',
        `c.JupyterHub.hub_bind_url = 'http://0.0.0.0:${ports.api}'`,
        `c.JupyterHub.hub_connect_url = 'http://${options.address}:${ports.api}'`,
        `c.ConfigurableHTTPProxy.api_url = '${hub.#proxyApi}'`,
        `c.ConfigurableHTTPProxy.auth_token = '${token}'`,
        ...(options.ownProxy === true ? ['c.ConfigurableHTTPProxy.should_start = False'] : []),
        `c.ConfigurableHTTPProxy.command = ['${process.execPath}', '${proxy}']`,
        `c.JupyterHub.db_url = 'sqlite:///${state}/hub.sqlite'`,
        `c.JupyterHub.cookie_secret_file = '${state}/cookie'`,
        `c.JupyterHub.services = [{'name': 'tests', 'api_token': '${token}'}]`,
        "c.JupyterHub.load_roles = [{'name': 'tests', 'scopes': ['admin:users', 'admin:servers'], 'services': ['tests']}]",
        ...(options.spawns === false ? ["c.JupyterHub.spawner_class = 'simple'"] : []),
        ...(options.lines ?? []),
        '',
      ].join('\n'),
      { mode: 0o644 },
    );
    try {
      if (options.bootstrap !== false) await hub.#startBootstrap();
      if (options.ownProxy === true) await hub.#startProxy();
      await hub.startHub();
    } catch (error) {
      await hub.stop();
      throw error;
    }
    return hub;
  }

  /** hub-bootstrap for each connection, as berth-hub.socket starts it. */
  async #startBootstrap(): Promise<void> {
    const socket = Hub.socketIn(this.directory);
    const listen = `UNIX-LISTEN:${socket},fork,mode=0660,group=${this.#account.gid}`;
    const berth = this.#options.portal?.files.berth ?? join(this.directory, 'berth.yml');
    if (this.#options.portal === undefined) {
      await mkdir(join(this.directory, 'clusters.d'));
      await writeFile(berth, `clusters_dir: ${this.directory}/clusters.d\n`);
    }
    const program = `${installDirectory}/hooks/hub-bootstrap --config ${berth}`;
    await this.#run('bootstrap', 'socat', [listen, `EXEC:"${program}",nofork`], {
      PATH: '/usr/bin:/bin',
    });
    await waitFor({ what: 'the socket', timeoutMs: 60_000, everyMs: 20 }, () =>
      execa('test', ['-S', socket]),
    );
  }

  async #startProxy(): Promise<void> {
    const [own, api] = [new URL(this.url), new URL(this.#proxyApi)];
    const argv = [
      ...[process.execPath, proxy, '--ip', own.hostname, '--port', own.port],
      ...['--api-ip', api.hostname, '--api-port', api.port],
    ];
    await this.#runAsHub('proxy', argv, { CONFIGPROXY_AUTH_TOKEN: this.#token });
  }

  /** Where the proxy leads a user. */
  async routeOf(user: string): Promise<URL> {
    const answer = await fetch(`${this.#proxyApi}/api/routes/user/${user}/`, {
      headers: { authorization: `token ${this.#token}` },
    });
    return new URL(((await answer.json()) as { readonly target: string }).target);
  }

  /** Starts the hub's own process, and waits until it and the servers that run answer through its proxy. */
  async startHub(): Promise<void> {
    const argv = [python, '-m', 'jupyterhub', '-f', join(this.directory, 'jupyterhub_config.py')];
    const starts = (await this.log()).split('JupyterHub is now running').length;
    const hub = await this.#runAsHub('hub', argv, {
      HOME: join(this.directory, 'state'),
      PYTHONPATH: `${this.#software}:${hubPackage}`,
      PYTHONDONTWRITEBYTECODE: '1',
      KUBECONFIG: join(this.directory, 'state/kubeconfig'),
    });
    const alive = async (): Promise<void> => {
      if (hub.exitCode !== null) throw new Error(await this.log());
    };
    // Its log, because the hub's own pages answer before the proxy knows the servers of users that run.
    await waitFor({ what: 'the hub', timeoutMs: 60_000, everyMs: 100, alive }, async () =>
      (await this.log()).split('JupyterHub is now running').length > starts ? true : undefined,
    );
  }

  #runAsHub(
    name: string,
    command: readonly string[],
    env: Record<string, string>,
  ): Promise<ChildProcess> {
    const argv = [
      ...['env', '-C', join(this.directory, 'state'), 'setpriv', '--pdeathsig=TERM'],
      ...[`--reuid=${this.#account.uid}`, `--regid=${this.#account.gid}`, '--init-groups', '--'],
      ...command,
    ];
    const [file = '', ...args] = this.#options.host?.entered(argv) ?? argv;
    return this.#run(name, file, args, { PATH: '/usr/bin:/bin', ...env });
  }

  /** PID of the hub's own process. */
  get pid(): number {
    return this.#processes.at(-1)?.pid ?? Number.NaN;
  }

  /** Ends the hub and its proxy. Servers go on. */
  async stopHub(): Promise<void> {
    const hub = this.#processes.pop();
    if (hub === undefined) return;
    if (hub.exitCode !== null) return;
    const exited = once(hub, 'exit');
    hub.kill('SIGTERM');
    await exited;
  }

  /** Kills the hub and nothing else, as the kernel does without memory. */
  async killHub(): Promise<void> {
    const hub = this.#processes.pop();
    if (hub === undefined) return;
    const exited = once(hub, 'exit');
    await this.#options.host?.asRoot([
      ...['pkill', '-KILL', '-u', 'test-hub', '-f', `${this.directory}/jupyterhub_config.py`],
    ]);
    await exited;
  }

  /** What the hub and hub-bootstrap have logged. */
  async log(): Promise<string> {
    const texts = ['bootstrap', 'hub'].map((name) =>
      readFile(join(this.directory, `${name}.log`), 'utf8').catch(() => ''),
    );
    return (await Promise.all(texts)).join('');
  }

  /** Logs a user in with the hub's form, and takes an API token. @throws Error with the page if that fails */
  async login(name: string, password: string): Promise<HubUser> {
    const browser = new Browser('');
    const { text } = await browser.get(`${this.url}/hub/login`);
    const fields = { username: name, password, _xsrf: xsrfOf(text) };
    const page = await browser.submit(`${this.url}/hub/login?next=%2Fhub%2Ftoken`, fields);
    return this.tokenOf(browser, page);
  }

  /** An API token of whoever is logged in. @param page that the browser shows */
  async tokenOf(browser: Browser, page: Page): Promise<HubUser> {
    const [, user] = /user: "([^"]+)"/.exec(page.text) ?? [];
    if (page.status !== 200 || user === undefined)
      throw new Error(`${page.status} ${wordsOf(page.text)}`);
    const url = `${this.url}/hub/api/users/${encodeURIComponent(user)}/tokens`;
    const headers = { cookie: browser.cookies(url), 'x-xsrftoken': xsrfOf(page.text) };
    const answer = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { ...headers, 'content-type': 'application/json' },
    });
    const text = await answer.text();
    if (answer.status !== 201) throw new Error(`${answer.status} ${text}`);
    const { token } = JSON.parse(text) as { token: string };
    return new HubUser(this.url, user, token, browser);
  }

  /** An admin of the hub, who can act for every user. */
  adminFor(name: string): HubUser {
    return new HubUser(this.url, name, this.#token);
  }

  async stop(): Promise<void> {
    await this.stopHub();
    for (const child of this.#processes) child.kill('SIGTERM');
    await rm(this.directory, { recursive: true, force: true });
  }

  async #run(
    name: string,
    command: string,
    args: readonly string[],
    env: Record<string, string>,
  ): Promise<ChildProcess> {
    const log = await open(join(this.directory, `${name}.log`), 'a');
    const child = spawn(command, args, {
      cwd: join(this.directory, 'state'),
      env,
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(child, 'spawn');
    await log.close();
    this.#processes.push(child);
    return child;
  }
}

/** The token against forged requests in a page of the hub: in a form, or for its scripts. */
function xsrfOf(page: string): string {
  return /name="_xsrf" value="([^"]+)"|xsrf_token: "([^"]+)"/.exec(page)?.slice(1).join('') ?? '';
}

/** What a person reads on a page. */
function wordsOf(page: string): string {
  const [, body = page] = /<main[^>]*>([^]*)<\/main>|$/.exec(page) ?? [];
  return body
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
