import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { ldapPassword, startHubDirectory } from '../../rig/jupyterhub/hub-directory.ts';
import { HubUnitHost } from '../../rig/jupyterhub/hub-unit-host.ts';
import { hubKey, installHub } from '../../rig/jupyterhub/install-hub.ts';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { installBerth, installDirectory, Portal } from '../../rig/site/portal.ts';
import { readerAccount } from '../../rig/slapd.ts';
import { type CrowdUser, crowdUser } from './crowd.ts';
import type { OwnCluster } from './own-cluster.ts';

/**
 * People in a directory who have never logged in, and a host with berth-hub.socket on which alone they have accounts. A hub
 * starts as often as a part likes.
 */
export class HubCrowd {
  readonly #portal: Portal;
  readonly #host: HubUnitHost;
  readonly #port: number;
  readonly #undo: readonly (() => Promise<void>)[];

  private constructor(
    own: { readonly portal: Portal; readonly host: HubUnitHost; readonly port: number },
    undo: readonly (() => Promise<void>)[],
  ) {
    this.#portal = own.portal;
    this.#host = own.host;
    this.#port = own.port;
    this.#undo = undo;
  }

  /** @param options.port of the servers */
  static async start(
    { site }: OwnCluster,
    { count, port }: { readonly count: number; readonly port: number },
  ): Promise<HubCrowd> {
    await installBerth();
    await installHub(site);
    const users = Array.from({ length: count }, (_, index) => crowdUser(index));
    const accounts = users.map(({ name, uid }) => ({ name, uid, gid: uid, home: '/' }));
    const undo: (() => Promise<void>)[] = [];
    try {
      const { slapd, ldap } = await startHubDirectory(site, accounts);
      undo.push(() => slapd.remove());
      const portal = await Portal.make(site, { berth: { defaults: hubKey, ldap } });
      undo.push(() => portal.remove());
      await writeProfile(portal.directory);
      const { gid } = await ensureAccount('test-hub');
      const host = await HubUnitHost.boot({
        config: portal.files.berth,
        writable: [portal.directory],
        users: Object.fromEntries(users.map(({ name, uid }) => [name, uid])),
        program: join(installDirectory, 'hooks/hub-bootstrap'),
        outsideGroup: gid,
      });
      undo.push(() => host.stop());
      return new HubCrowd({ portal, host, port }, undo);
    } catch (error) {
      for (const step of undo.toReversed()) await step();
      throw error;
    }
  }

  /** Starts a new hub, which knows no user. */
  async startHub(): Promise<Hub> {
    const portal = this.#portal;
    const place = await Hub.makeDirectory();
    const { stdout, stderr } = await portal.berth(
      ...['render', 'jupyterhub', 'base', '--config-dir', portal.directory],
      ...['--socket', this.#host.socket, '--login', 'ldap'],
      ...['--ldap-password-file', Hub.secretIn(place, 'ldap-password')],
    );
    if (stderr !== '') throw new Error(stderr);
    return Hub.start(place, {
      ...{ portal, bootstrap: false, config: stdout, address: '127.0.0.1' },
      secrets: { 'ldap-password': readerAccount.password },
      lines: [`c.BerthKubeSpawner.port = ${this.#port}`],
    });
  }

  /** How often hub-bootstrap was asked to make the namespace of a user, by name. */
  async bootstraps(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const lines = (await this.#host.log()).split('\n');
    for (const line of lines.filter((one) => /msg="namespace made|level=error/.test(one))) {
      const [, user = ''] = /\buser=(\S+)/.exec(line) ?? [];
      counts.set(user, (counts.get(user) ?? 0) + 1);
    }
    return counts;
  }

  /** Processor time of hub-bootstrap and of the systemd that starts it. Seconds. */
  async hostSeconds(): Promise<number> {
    const cgroup = await readFile(join(this.#host.directory, 'cgroup'), 'utf8');
    const stat = await readFile(`/sys/fs/cgroup/unified/${cgroup.trim()}/cpu.stat`, 'utf8');
    return Number(/usage_usec (\d+)/.exec(stat)?.[1]) / 1e6;
  }

  async stop(): Promise<void> {
    for (const step of this.#undo.toReversed()) await step();
  }
}

export interface Spawn {
  /** From the button until the page says that the server is ready. Milliseconds. */
  readonly ms: number;
  /** Why the login or the start has failed; empty if it has not. */
  readonly failure: string;
}

/** Logs a user in and starts a server, as with the hub's pages: they wait for the end of the stream of progress. */
export async function logInAndSpawn(hub: Hub, { name }: CrowdUser): Promise<Spawn> {
  let begun = performance.now();
  try {
    const user = await hub.login(name, ldapPassword);
    begun = performance.now();
    const server = `/hub/api/users/${name}/server`;
    const asked = await user.request('POST', server, { profile: 'base' });
    const progress = await user.request('GET', `${server}/progress`);
    const isReady = /"ready": ?true/.test(progress.text);
    const failure = isReady ? '' : `${asked.status} ${asked.text} ${progress.text}`;
    return { ms: performance.now() - begun, failure };
  } catch (error) {
    return { ms: performance.now() - begun, failure: String(error) };
  }
}

async function writeProfile(directory: string): Promise<void> {
  const profiles = join(directory, 'profiles');
  const limits = { cpus: 1, memory: '1G' };
  const base = {
    backend: 'pod',
    image: 'registry.example.org/notebook:1',
    pull: 'missing',
    limits,
  };
  await mkdir(profiles);
  await writeFile(join(profiles, 'base.yml'), stringify(base));
  await writeFile(join(directory, 'ssh.yml'), stringify({ profiles_dir: profiles }));
}
