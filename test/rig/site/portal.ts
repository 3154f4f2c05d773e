import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { publicDirectory } from './directories.ts';
import type { Site } from './site.ts';

const checkout = createHash('sha256')
  .update(import.meta.dirname)
  .digest('hex')
  .slice(0, 8);

/**
 * Where the outputs are installed: users can read this directory, but perhaps not the checkout. Each checkout
 * has its own, so that two that are tested at once test their own build.
 */
export const installDirectory = join(publicDirectory, checkout, 'berth');

export interface PortalTokens {
  readonly accessToken?: string | undefined;
  readonly idToken?: string | undefined;
  readonly refreshToken?: string | undefined;
}

export interface HookResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Keys of `v2.job` in a cluster's file, which override the defaults of `writeCluster`. */
export type ClusterFile = Readonly<Record<string, unknown>>;

export interface PortalOptions {
  /** `v2.job` of each `clusters.d/NAME.yml`; default: one cluster `prod`. */
  readonly clusters?: Readonly<Record<string, ClusterFile>>;
  /** Variables of `hook.env` that override the defaults of `writeHookEnv`. */
  readonly hookEnv?: Readonly<Record<string, string>>;
  /** `berth.yml`. */
  readonly berth?: Readonly<Record<string, unknown>>;
  /** Content of root's kubeconfig; default: one with a new token of the hook's ServiceAccount. */
  readonly kubeconfig?: string;
}

/** The default prefix of the namespaces that a portal creates. */
export const namespacePrefix = 'u-';
export const pullSecretName = 'ondemand-pull-secret';

/**
 * An Open OnDemand host as its pre-PUN hook sees it: the configuration files, in a temporary directory, and
 * the environment in which nginx_stage calls the hook.
 */
export class Portal {
  readonly site: Site;
  /** Directory of the configuration files; homes and sockets are elsewhere. */
  readonly directory: string;
  readonly files: {
    readonly berth: string;
    readonly hookEnv: string;
    readonly clustersDir: string;
    readonly kubeconfig: string;
    readonly dockerConfig: string;
    readonly stateDir: string;
  };

  /** Replaces each command line before it is run, for example to run it on a host with systemd. */
  wrapArgv = (argv: readonly string[]): readonly string[] => argv;

  private constructor(site: Site, directory: string) {
    this.site = site;
    this.directory = directory;
    this.files = {
      berth: join(directory, 'berth.yml'),
      hookEnv: join(directory, 'hook.env'),
      clustersDir: join(directory, 'clusters.d'),
      kubeconfig: join(directory, 'kubeconfig'),
      dockerConfig: join(directory, 'docker-config.json'),
      stateDir: join(directory, 'state'),
    };
  }

  /** Installs `etc/kubernetes` on the site's cluster and writes a portal's configuration. */
  static async make(site: Site, options: PortalOptions = {}): Promise<Portal> {
    await installHookAccount(site);
    await mkdir(publicDirectory, { recursive: true });
    const portal = new Portal(site, await mkdtemp(join(publicDirectory, 'portal-')));
    await mkdir(portal.files.clustersDir, { mode: 0o755 });
    await writeFile(
      portal.files.dockerConfig,
      JSON.stringify({ auths: { 'registry.example.org': { auth: 'dXNlcjpwYXNz' } } }),
      { mode: 0o600 },
    );
    await writeFile(portal.files.kubeconfig, options.kubeconfig ?? (await hookKubeconfig(site)), {
      mode: 0o600,
    });
    await portal.writeHookEnv(options.hookEnv);
    for (const [name, job] of Object.entries(options.clusters ?? { prod: {} }))
      await portal.writeCluster(name, job);
    await portal.writeBerth(options.berth);
    return portal;
  }

  async writeHookEnv(lines: Readonly<Record<string, string>> = {}): Promise<void> {
    const values = {
      K8S_USERNAME_PREFIX: '',
      NAMESPACE_PREFIX: namespacePrefix,
      NETWORK_POLICY_ALLOW_CIDR: '127.0.0.1/32',
      IDP_ISSUER_URL: this.site.keycloak.issuer,
      CLIENT_ID: this.site.keycloak.client('kubernetes-public').id,
      CLIENT_SECRET: '',
      IMAGE_PULL_SECRET: pullSecretName,
      REGISTRY_DOCKER_CONFIG_JSON: this.files.dockerConfig,
      USE_POD_SECURITY_POLICY: 'false',
      USE_JOB_POD_REAPER: 'true',
      ...lines,
    };
    await writeFile(
      this.files.hookEnv,
      Object.entries(values)
        .map(([key, value]) => `${key}="${value}"\n`)
        .join(''),
      { mode: 0o600 },
    );
  }

  async writeCluster(name: string, job: ClusterFile = {}): Promise<void> {
    const standard = {
      adapter: 'kubernetes',
      cluster: name,
      context: name,
      bin: this.site.kubectlPath,
      namespace_prefix: namespacePrefix,
      auth: { type: 'oidc' },
      server: { endpoint: this.site.server, cert_authority_file: this.site.ca.file },
    };
    const file = {
      v2: {
        ...{ metadata: { title: name }, job: { ...standard, ...job } },
        batch_connect: { ssh_allow: false },
      },
    };
    await writeFile(join(this.files.clustersDir, `${name}.yml`), stringify(file), { mode: 0o644 });
  }

  /** Writes `berth.yml`. The keys of `defaults` override the defaults that every test needs. */
  async writeBerth({
    defaults = {},
    ...berth
  }: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const settings = {
      hook_env: this.files.hookEnv,
      clusters_dir: this.files.clustersDir,
      state_dir: this.files.stateDir,
      kube_credential: join(installDirectory, 'shell/kube-credential'),
      defaults: {
        admin: { kubeconfig: this.files.kubeconfig },
        subject_prefix: 'oidc:',
        credentials: {
          ca_file: this.site.ca.file,
          audience: this.site.keycloak.client('kubernetes').id,
          exchange: false,
          token: 'id',
        },
        ...(defaults as object),
      },
      ...berth,
    };
    await writeFile(this.files.berth, stringify(settings), { mode: 0o644 });
  }

  /** Configures OnDemand's own client, whose tokens are exchanged for the cluster's audience; its secret is in a file. */
  async useExchange(more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const { id, secret = '' } = this.site.keycloak.client('ondemand');
    const file = join(this.directory, 'client-secret');
    await writeFile(file, `${secret}\n`, { mode: 0o600 });
    const credentials = {
      ca_file: this.site.ca.file,
      client_id: id,
      client_secret_file: file,
      audience: 'kubernetes',
      exchange: true,
      exchange_scope: 'kubernetes',
      ...more,
    };
    const admin = { kubeconfig: this.files.kubeconfig };
    await this.writeBerth({ defaults: { admin, subject_prefix: 'oidc:', credentials } });
  }

  /** Logs a user in at the identity provider with a client whose tokens the cluster accepts. */
  async login(user: string): Promise<PortalTokens> {
    return this.site.keycloak.login(user, { client: 'kubernetes-public' });
  }

  /** The environment of the hook: what nginx_stage's sudo keeps, and the tokens of `pun_pre_hook_exports`. */
  environment(tokens: PortalTokens = {}): Record<string, string> {
    return {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: this.directory,
      LANG: 'C.UTF-8',
      SUDO_USER: 'apache',
      SUDO_UID: '48',
      NGINX_STAGE_CONFIG_FILE: '/etc/ood/config/nginx_stage.yml',
      OOD_PORTAL: 'ondemand',
      ...(tokens.accessToken === undefined ? {} : { OOD_OIDC_ACCESS_TOKEN: tokens.accessToken }),
      ...(tokens.idToken === undefined ? {} : { OOD_OIDC_ID_TOKEN: tokens.idToken }),
      ...(tokens.refreshToken === undefined ? {} : { OOD_OIDC_REFRESH_TOKEN: tokens.refreshToken }),
    };
  }

  /** Runs `pre-pun --user NAME` as nginx_stage does: as root, in `/`, with an empty pipe as stdin. */
  prePun(user: string, tokens: PortalTokens = {}, ...args: string[]): Promise<HookResult> {
    const argv = ['--user', user, '--config', this.files.berth, ...args];
    return this.run('hooks/pre-pun', argv, tokens);
  }

  /** Runs `berth COMMAND …` with this portal's configuration. */
  berth(...args: string[]): Promise<HookResult> {
    return this.run('berth', [...args, '--config', this.files.berth]);
  }

  async run(
    output: string,
    args: readonly string[],
    tokens: PortalTokens = {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<HookResult> {
    const [file = '', ...rest] = this.wrapArgv([join(installDirectory, output), ...args]);
    const { exitCode, stdout, stderr, shortMessage } = await execa(file, rest, {
      reject: false,
      extendEnv: false,
      env: { ...this.environment(tokens), ...env },
      cwd: '/',
      input: '',
      timeout: 60_000,
    });
    if (exitCode === undefined) throw new Error(shortMessage);
    return { exitCode, stdout, stderr };
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The content of a kubeconfig with a token of the hook's ServiceAccount, as `berth token setup` writes it. */
export async function hookKubeconfig(
  site: Site,
  server = site.server,
  account = { namespace: 'ondemand', name: 'berth-hook' },
): Promise<string> {
  const { stdout } = await ok(
    site.kubectl(['-n', account.namespace, 'create', 'token', account.name, '--duration=48h']),
  );
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': site.ca.file } }],
    users: [{ name: 'berth-hook', user: { token: stdout.trim() } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'berth-hook' } }],
    'current-context': 'c',
  });
}

/** By API server. */
const prepared = new Map<string, Promise<unknown>>();

/**
 * Applies etc/kubernetes, as the README says, once per process and API server. The tests of `site` do not repeat it: beside them runs a
 * file that may have taken something away on purpose, such as the guard.
 */
function installHookAccount(site: Site): Promise<unknown> {
  const known = prepared.get(site.server);
  if (known !== undefined) return known;
  const running = (async () => {
    if (process.env.BERTH_TEST_PROJECT === 'site') {
      const account = await site.kubectl('get serviceaccount berth-hook -n ondemand'.split(' '));
      if (account.exitCode === 0) return;
    }
    const etc = new URL('../../../etc/kubernetes', import.meta.url).pathname;
    await ok(site.kubectl(['apply', '-k', etc]));
  })();
  prepared.set(site.server, running);
  return running;
}

/** Runs `npm run install:site` with the tests' prefix. */
export async function installBerth(): Promise<void> {
  const root = new URL('../../../', import.meta.url).pathname;
  const script = join(root, 'scripts/install.ts');
  await execa(process.execPath, ['--import', 'tsx', script, '--prefix', installDirectory], {
    cwd: root,
  });
}

async function ok<R extends HookResult>(running: Promise<R>): Promise<R> {
  const result = await running;
  if (result.exitCode !== 0) throw new Error(result.stderr);
  return result;
}
