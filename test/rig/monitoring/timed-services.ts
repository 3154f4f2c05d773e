import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrokerHost } from '../broker/broker-host.ts';
import { startHubDirectory } from '../jupyterhub/hub-directory.ts';
import { installDirectory } from '../site/portal.ts';
import type { Account } from '../site/accounts.ts';
import type { Site } from '../site/site.ts';
import { TimerHost } from '../site/timer-host.ts';
import { groupEntry } from '../slapd.ts';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;

/** Configurations of the services that a timer starts, from which `berth` runs for real. */
export class TimedServices {
  readonly #configs: Readonly<Record<string, string>>;
  readonly #stop: () => Promise<unknown>;

  private constructor(configs: Readonly<Record<string, string>>, stop: () => Promise<unknown>) {
    this.#configs = configs;
    this.#stop = stop;
  }

  /**
   * @param member of a group in the directory
   * @param portalConfig berth.yml of the portal
   */
  static async make(site: Site, member: Account, portalConfig: string): Promise<TimedServices> {
    const { slapd, ldap } = await startHubDirectory(site, [member]);
    await slapd.add(groupEntry('phys', 62_000, [member.name]));
    const host = (name: string, account: string): Promise<TimerHost> =>
      TimerHost.create(site, { name: `mo-${name}`, account, components: [name] });
    const sync = await host('ldap-sync', 'berth-ldap-sync');
    await sync.configure({ ldap: { ...ldap, namespace_selector: sync.selector } });
    const reaper = await host('reaper', 'berth-reaper');
    // There is no slurmdbd: it fails, and says so.
    const slurm = join(sync.directory, 'slurm-sync.yml');
    const accounts = { cluster: 'site', accounts: [{ account: 'physics', groups: ['phys'] }] };
    await writeFile(slurm, JSON.stringify({ ldap, slurm_accounts: accounts }), { mode: 0o600 });
    const configs = {
      'berth-metrics': portalConfig,
      'berth-ldap-sync': sync.config,
      'berth-slurm-sync': slurm,
      // The cluster `away` does not answer: it fails.
      'berth-token-rotate': portalConfig,
      'berth-cluster-reap': `${reaper.config} --namespace-selector ${reaper.selector}`,
    };
    return new TimedServices(configs, () =>
      Promise.all([slapd.remove(), sync.remove(), reaper.remove()]),
    );
  }

  /** Installs the units of etc/systemd, with the test's paths, and starts the timers. */
  async install(host: BrokerHost, textfiles: string): Promise<void> {
    await mkdir(textfiles, { recursive: true });
    for (const [name, config] of Object.entries(this.#configs)) {
      const [file = ''] = config.split(' ');
      const service = (await readFile(`${etc}${name}.service`, 'utf8'))
        .replaceAll('/usr/lib/berth/berth ', `${join(installDirectory, 'berth')} `)
        .replaceAll('/var/lib/prometheus/node-exporter', textfiles)
        .replace(/^(ConditionPathExists=).*$/m, `$1${file}`)
        .replace(/^(ExecStart=.*?)(?: --config \S+)?( --textfile.*)?$/m, `$1 --config ${config}$2`)
        // /var/lib is the machine's.
        .replace(/^StateDirectory.*\n/gm, '')
        // The test's files are in /tmp.
        .replace(/^PrivateTmp=yes$/m, 'PrivateTmp=no');
      await writeFile(join(host.directory, `units/${name}.service`), service);
      const timer = await readFile(`${etc}${name}.timer`, 'utf8');
      await writeFile(join(host.directory, `units/${name}.timer`), timer);
    }
    await host.systemctl('daemon-reload');
    await host.systemctl('start', ...Object.keys(this.#configs).map((name) => `${name}.timer`));
  }

  /** Runs all of them now, the metrics at the end. */
  async run(host: BrokerHost): Promise<void> {
    const names = Object.keys(this.#configs);
    await host.systemctl('start', ...names.slice(1).map((name) => `${name}.service`));
    await host.systemctl('start', `${names[0] ?? ''}.service`);
  }

  async remove(): Promise<void> {
    await this.#stop();
  }
}
