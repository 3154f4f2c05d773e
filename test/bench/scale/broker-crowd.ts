import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSiteSettings } from '../../../src/config/load/load-site-settings.ts';
import type { ClusterSettings } from '../../../src/config/schema/settings.ts';
import { clusterCredential } from '../../../src/credentials/cluster-credential.ts';
import { credentialCachePath } from '../../../src/credentials/credential-cache.ts';
import { openIssuer } from '../../../src/credentials/oidc/issuer.ts';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { httpsRequest } from '../../../src/system/https-request.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import {
  clientSecret,
  confidentialClient,
  LocalOidcProvider,
} from '../../rig/local-oidc-provider.ts';
import { installBerth, installDirectory } from '../../rig/site/portal.ts';
import { expireCredential } from '../../rig/site/user-kubectl.ts';

const firstUid = 62_000;

/**
 * A portal host with systemd, an identity provider, and users that exist on that host only. Their logins are written by the
 * hook's own code in this process; the broker, its units and kube-credential are the installed ones.
 */
export class BrokerCrowd {
  readonly host: BrokerHost;
  readonly provider: LocalOidcProvider;
  readonly #directory: string;
  readonly #cluster: ClusterSettings;

  private constructor(
    directory: string,
    provider: LocalOidcProvider,
    cluster: ClusterSettings,
    host: BrokerHost,
  ) {
    this.host = host;
    this.provider = provider;
    this.#directory = directory;
    this.#cluster = cluster;
  }

  static async start(count: number): Promise<BrokerCrowd> {
    await installBerth();
    const directory = await mkdtemp('/var/tmp/berth-scale-broker-');
    const provider = await LocalOidcProvider.start();
    try {
      await chmod(directory, 0o711);
      const config = await configure(directory, provider);
      const { settings } = await loadSiteSettings({ configFile: config }, { cache: 'off' });
      const [cluster] = settings.clusters;
      if (cluster === undefined) throw new Error('the configuration has no cluster');
      const host = await BrokerHost.boot({
        command: [join(installDirectory, 'hooks/credential-broker')],
        config,
        stateDir: settings.stateDir,
        users: Object.fromEntries(uids(count).map((uid) => [uid, nameOf(uid)])),
      });
      return new BrokerCrowd(directory, provider, cluster, host);
    } catch (error) {
      await provider.stop();
      await rm(directory, { recursive: true });
      throw error;
    }
  }

  /** Logs the users in, and makes their tokens expire. @returns their UIDs */
  async expired(count: number): Promise<readonly number[]> {
    const wanted = uids(count);
    for (const uid of wanted) await this.#login(uid);
    const units = wanted.map((uid) => `berth-broker@${uid}.socket`);
    const said = await this.host.systemctl('start', ...units);
    if (said !== '') throw new Error(said);
    return wanted;
  }

  /** Runs the plugin as the user's kubectl does. @returns what it wrote to stderr, empty if it has a token */
  ask(uid: number): Promise<string> {
    const { endpoint: server } = this.#cluster.server;
    const spec = { cluster: { server }, interactive: false };
    const apiVersion = 'client.authentication.k8s.io/v1';
    const env = {
      HOME: this.#home(uid),
      KUBERNETES_EXEC_INFO: JSON.stringify({ kind: 'ExecCredential', apiVersion, spec }),
    };
    const plugin = join(installDirectory, 'shell/kube-credential');
    const [file = '', ...words] = this.host.enterAs(uid, [plugin]);
    return new Promise((resolve) =>
      execFile(file, words, { env }, (error, _, stderr) =>
        resolve(error === null ? '' : stderr || error.message),
      ),
    );
  }

  async stop(): Promise<void> {
    await this.host.stop();
    await this.provider.stop();
    await rm(this.#directory, { recursive: true });
  }

  #home(uid: number): string {
    return join(this.#directory, 'homes', String(uid));
  }

  async #login(uid: number): Promise<void> {
    const [name, home] = [nameOf(uid), this.#home(uid)];
    await mkdir(home, { recursive: true, mode: 0o711 });
    await chown(home, uid, uid);
    const { idToken, refreshToken } = await this.provider.login(name, confidentialClient);
    const { ca } = this.provider;
    const stateDir = join(this.#directory, 'state');
    const limits = { now: () => Date.now() / 1000, timeoutMs: 10_000 };
    await clusterCredential(
      { name, uid, gid: uid, groups: [uid], home, shell: '/bin/sh' },
      this.#cluster,
      { idToken, refreshToken },
      {
        ...{ stateDir, https: httpsRequest, readCa: () => ca, lockWaitMs: 2_000, ...limits },
        kubeCredentialCommand: join(installDirectory, 'shell/kube-credential'),
        issuer: ({ issuer }) =>
          openIssuer({ issuer, stateDir, ca }, { https: httpsRequest, ...limits }),
        mintToken: () => Promise.reject(new Error('not a ServiceAccount')),
      },
    );
    await expireCredential(join(home, credentialCachePath(this.#cluster.server.endpoint)));
    await expireCredential(storedCredentialPath(stateDir, uid, this.#cluster.name));
  }
}

const uids = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => firstUid + index);

const nameOf = (uid: number): string => `crowd${uid}`;

/** A site with one cluster, whose credential is an ID token of OnDemand's confidential client. */
async function configure(directory: string, provider: LocalOidcProvider): Promise<string> {
  const clusters = join(directory, 'clusters.d');
  const secret = join(directory, 'secret');
  await mkdir(clusters);
  await mkdir(join(directory, 'homes'), { mode: 0o711 });
  await writeFile(secret, clientSecret, { mode: 0o600 });
  const job = {
    ...{ adapter: 'kubernetes', bin: '/usr/bin/kubectl', cluster: 'test', context: 'test' },
    ...{ config_file: '~/.kube/config', auth: { type: 'oidc' } },
    server: { endpoint: 'https://k8s.example.org:6443' },
  };
  // JSON is YAML.
  const cluster = JSON.stringify({ v2: { metadata: { title: 'Test' }, job } });
  await writeFile(join(clusters, 'test.yml'), cluster);
  const credentials = {
    ...{ issuer: provider.issuer, ca_file: provider.caFile, client_id: confidentialClient },
    client_secret_file: secret,
  };
  const berth = {
    ...{ state_dir: join(directory, 'state'), hook_env: null, clusters_dir: clusters },
    defaults: { credentials },
  };
  const file = join(directory, 'berth.yml');
  await writeFile(file, JSON.stringify(berth));
  return file;
}
