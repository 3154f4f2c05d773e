import { join } from 'node:path';
import { berthDocument } from '../../rig/berth-document.ts';
import type { ClientResult } from '../../../src/companions/verify/run-client.ts';
import { standardProfile } from '../../rig/login-node/ssh-host.ts';
import { CertificateAuthority } from '../../rig/site/certificates.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { baseDn, type Entry, readerAccount, Slapd } from '../../rig/slapd.ts';
import { startAccounting } from '../../rig/slurm/accounting.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

/** An association: `ACCOUNT|PARENT|USER|MaxSubmitJobs`. */
export type Association = string;

/** `ldap` of the configuration: what a test says over what every test wants. */
interface LdapSection {
  readonly users?: object;
  readonly groups?: object;
  readonly url?: string;
}

/** A Slurm cluster with slurmdbd and its database, and an LDAP directory, on a host that runs `berth slurm-sync`. */
export class AccountsSite {
  readonly slurm: SlurmSite;
  readonly slapd: Slapd;

  private constructor(slurm: SlurmSite, slapd: Slapd) {
    this.slurm = slurm;
    this.slapd = slapd;
  }

  /** @param users those with a home on the hosts, so that they can submit jobs */
  static async start(
    users: readonly string[],
    entries: readonly Entry[],
    entities: readonly string[],
  ): Promise<AccountsSite> {
    const slurm = await SlurmSite.start({
      ...{ mode: 'forced', users: Object.fromEntries(users.map((user) => [user, []])) },
      profiles: { base: standardProfile },
    });
    await startAccounting(slurm, entities);
    const authority = await CertificateAuthority.create(join(slurm.login.directory, 'ca'));
    const certificate = await authority.server('slapd');
    const slapd = await Slapd.start({ certificate, ca: authority.cert }, entries);
    const site = new AccountsSite(slurm, slapd);
    const password = 'umask 077; cat >/etc/berth/ldap-password';
    await site.root(['sh', '-c', password], readerAccount.password);
    return site;
  }

  async stop(): Promise<void> {
    await this.slapd.remove();
    await this.slurm.stop();
  }

  /** Runs a command as root on the login node. @throws Error if it fails */
  async root(argv: readonly string[], input = ''): Promise<string> {
    const { exitCode, stdout, stderr } = await this.slurm.login.asRoot(argv, { input });
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}${stdout.toString()}`);
    return stdout.toString();
  }

  /** Makes /etc/berth/slurm-sync.yml. */
  async configure(
    accounts: object,
    { users = {}, groups = {}, ...ldap }: LdapSection = {},
  ): Promise<void> {
    const settings = {
      ldap: {
        url: `ldap://127.0.0.1:${this.slapd.ports.ldap}`,
        start_tls: false,
        bind_dn: readerAccount.dn,
        bind_password_file: '/etc/berth/ldap-password',
        page_size: 50,
        users: { base: `ou=people,${baseDn}`, ...users },
        groups: { base: `ou=groups,${baseDn}`, ...groups },
        ...ldap,
      },
      state_dir: `${this.slurm.login.directory}/slurm-sync-state`,
      slurm_accounts: { cluster: 'site', ...accounts },
    };
    await this.root(['tee', '/etc/berth/slurm-sync.yml'], JSON.stringify(settings));
  }

  sync(...args: readonly string[]): Promise<ClientResult> {
    const config = ['--config', '/etc/berth/slurm-sync.yml'];
    return this.slurm.login.asRoot([`${installDirectory}/berth`, 'slurm-sync', ...config, ...args]);
  }

  /** `berth slurm-sync --yes`. @throws Error if it fails */
  async synced(...args: readonly string[]): Promise<SyncReport> {
    const { exitCode, stdout, stderr } = await this.sync('--yes', '-o', 'json', ...args);
    if (exitCode !== 0) throw new Error(stderr);
    return berthDocument(stdout.toString()) as SyncReport;
  }

  /** All associations of the cluster, sorted. */
  async associations(...conditions: readonly string[]): Promise<Association[]> {
    const format = 'format=Account,ParentName,User,MaxSubmitJobs';
    return this.list('associations', 'wopl', 'cluster=site', ...conditions, format);
  }

  /** The default accounts, by user. */
  async defaults(): Promise<Readonly<Record<string, string>>> {
    const lines = await this.list('users', 'format=User,DefaultAccount');
    return Object.fromEntries(
      lines.map((line): [string, string] => {
        const [user = '', account = ''] = line.split('|');
        return [user, account];
      }),
    );
  }

  /** How many changes slurmdbd has recorded. */
  async transactions(): Promise<number> {
    return (await this.list('transactions', 'format=Action')).length;
  }

  async sacctmgr(...args: readonly string[]): Promise<void> {
    await this.root(['sacctmgr', '-i', ...args]);
  }

  /** Lines of `sacctmgr list`, sorted. */
  async list(...args: readonly string[]): Promise<string[]> {
    const text = await this.root(['sacctmgr', '-P', '-n', 'list', ...args]);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .sort();
  }
}

/** What the tests read of the document. */
export interface SyncReport {
  readonly commands: readonly (readonly string[])[];
  readonly done: number;
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly kept: readonly {
    readonly account: string;
    readonly user: string;
    readonly reason: string;
  }[];
}
