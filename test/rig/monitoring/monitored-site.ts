import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { askBroker } from '../broker/ask-broker.ts';
import { BrokerHost } from '../broker/broker-host.ts';
import { testImageStore } from '../login-node/image-store.ts';
import { type PodHost, startPodHost } from '../login-node/pod-host.ts';
import { LiveCluster } from '../site/live-cluster.ts';
import { hookKubeconfig, installDirectory, Portal } from '../site/portal.ts';
import type { Site } from '../site/site.ts';
import { type TestUser, TestUsers } from '../site/test-users.ts';
import { expireCredential, UserKubectl } from '../site/user-kubectl.ts';
import { waitFor } from '../wait-for.ts';
import { TimedServices } from './timed-services.ts';

/** Users of the login node, by what their sessions are. */
const sshUsers = { pod: 'mo-pod', container: 'mo-box', broken: 'mo-none' };

/** Nothing answers there. */
const away = 'https://127.0.0.1:1';

const quota = { hard: { pods: 5, 'requests.cpu': '2', 'requests.memory': '2Gi' } };
const podman = { backend: 'podman', pull: 'never', network: 'host', mounts: [{ source: '$HOME' }] };

/** A portal with two clusters, one of them unreachable, and a login node; each writes its metrics for node_exporter. */
export class MonitoredSite {
  readonly textfiles: { readonly portal: string; readonly login1: string };
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.textfiles = {
      portal: join(parts.broker.directory, 'textfiles'),
      login1: join(parts.login.host.directory, 'textfiles'),
    };
  }

  static async start(site: Site): Promise<MonitoredSite> {
    const cluster = new LiveCluster(site);
    const users = new TestUsers(cluster);
    const dana = await users.create('mo-dana');
    await site.keycloak.addUser(dana.name);
    const login = await startLogin(site);
    const portal = await Portal.make(site, {
      clusters: { prod: {}, away: { server: { endpoint: away } } },
    });
    await portal.useExchange();
    const kubeconfig = join(portal.directory, 'away.kubeconfig');
    await writeFile(kubeconfig, await hookKubeconfig(site, away), { mode: 0o600 });
    await appendFile(
      portal.files.berth,
      stringify({ clusters: { away: { admin: { kubeconfig } } } }),
    );
    const services = await TimedServices.make(site, dana, portal.files.berth);
    const broker = await BrokerHost.boot({
      command: [join(installDirectory, 'hooks/credential-broker')],
      config: portal.files.berth,
      stateDir: portal.files.stateDir,
      service: [`ReadWritePaths=${portal.directory}`],
    });
    portal.wrapArgv = (argv) => broker.enter(argv);
    const parts = { site, cluster, users, dana, login, portal, services, broker };
    const monitored = new MonitoredSite(parts);
    await mkdir(monitored.textfiles.login1);
    await services.install(broker, monitored.textfiles.portal);
    await broker.startSocket(dana.uid);
    await monitored.collect();
    return monitored;
  }

  /** Logins and sessions that succeed, and others that fail. */
  async use(): Promise<void> {
    const { site, portal, dana, broker, login } = this.#parts;
    await portal.prePun(dana.name, await site.keycloak.login(dana.name));
    await portal.prePun(dana.name, { idToken: 'none', refreshToken: 'none' });
    const kubectl = new UserKubectl(site, dana);
    kubectl.host = broker;
    await kubectl.expireToken();
    await expireCredential(storedCredentialPath(portal.files.stateDir, dana.uid, 'prod'));
    await kubectl.whoami('--context', 'prod');
    const config = await readFile(portal.files.berth, 'utf8');
    await writeFile(portal.files.berth, 'minimum_uid: [\n');
    await askBroker(broker, dana.uid, 'no token for anybody', true);
    await writeFile(portal.files.berth, config);
    for (const user of Object.values(sshUsers)) await login.host.ssh(user, ['echo hello']);
    // Root counts a session that did not start when its connection closes, after the client has ended.
    const { uid } = login.host.account(sshUsers.broken);
    await waitFor({ what: 'the last connection to close', timeoutMs: 60_000 }, async () => {
      const words = ['find', '/run/berth/connections', '-path', `*/${uid}/*`];
      return (await login.host.asRoot(words)).stdout.length === 0 || undefined;
    });
  }

  /** A pod of a session that no node can run. */
  async pend(): Promise<void> {
    const { cluster } = this.#parts;
    const resources = { requests: { cpu: '100m', memory: '64Mi' } };
    const container = { name: 'session', image: 'none.example.com/none', resources };
    await cluster.create({
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { name: 'berth-waiting', namespace: `u-${sshUsers.pod}` },
      spec: { nodeSelector: { none: 'has-it' }, containers: [container] },
    });
  }

  /** What the timers do each minute. */
  async collect(): Promise<void> {
    const { services, broker, login } = this.#parts;
    await services.run(broker);
    const berth = join(installDirectory, 'berth');
    const file = (name: string): string => `--textfile=${this.textfiles.login1}/${name}.prom`;
    for (const argv of [
      [berth, 'reap', file('berth')],
      [berth, 'metrics', file('berth-metrics')],
    ]) {
      const { exitCode, stderr } = await login.host.asRoot(argv);
      if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
    }
  }

  get login(): PodHost['host'] {
    return this.#parts.login.host;
  }

  async stop(): Promise<void> {
    const { services, broker, login, portal, users, cluster } = this.#parts;
    await cluster.kubectl([
      'delete',
      'pod',
      'berth-waiting',
      '-n',
      `u-${sshUsers.pod}`,
      '--now',
      '--ignore-not-found',
    ]);
    await broker.stop();
    await login.stop();
    await services.remove();
    await users.removeNamespaces();
    await portal.remove();
  }
}

interface Parts {
  readonly site: Site;
  readonly cluster: LiveCluster;
  readonly users: TestUsers;
  readonly dana: TestUser;
  readonly login: PodHost;
  readonly portal: Portal;
  readonly services: TimedServices;
  readonly broker: BrokerHost;
}

async function startLogin(site: Site): Promise<PodHost> {
  const { store } = await testImageStore();
  return startPodHost(site, {
    mode: 'forced',
    images: store,
    users: Object.fromEntries(Object.values(sshUsers).map((name) => [name, []])),
    berth: { defaults: { resource_quota: quota } },
    profile: { limits: { cpus: 0.5, memory: '256M' } },
    profiles: {
      box: { ...podman, image: 'localhost/berth-site:1', limits: {} },
      none: { ...podman, image: 'localhost/none:1', limits: {} },
    },
    sshYml: {
      rules: [
        { profile: 'box', users: [sshUsers.container] },
        { profile: 'none', users: [sshUsers.broken] },
        { profile: 'base' },
      ],
    },
  });
}
