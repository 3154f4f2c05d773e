import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { freePorts } from '../free-ports.ts';
import type { SlurmSite } from './slurm-site.ts';

const config = '/etc/slurm';

/** MariaDB on a socket of the host only, where slurmdbd looks for it. */
const database = `install -d -o slurm /run/mysqld "$0"
mariadb-install-db --no-defaults --user=slurm --datadir="$0" --skip-test-db \\
  --auth-root-authentication-method=normal >/dev/null
mariadbd --no-defaults --user=slurm --datadir="$0" --socket=/run/mysqld/mysqld.sock --skip-networking \\
  --pid-file=/run/mysqld/pid --innodb-flush-log-at-trx-commit=0 </dev/null >"$0.log" 2>&1 &
until [ -S /run/mysqld/mysqld.sock ]; do sleep 0.05; done`;

const daemon = `slurmdbd; until sacctmgr --noheader show cluster >/dev/null 2>&1; do sleep 0.1; done`;

/**
 * Gives a cluster accounting, on its login node: slurmdbd, its database, and the limits of accounts and QOS.
 *
 * @param entities commands of sacctmgr(1), such as `add account lab`
 */
export async function startAccounting(
  { login, nodes, slurm }: SlurmSite,
  entities: readonly string[],
): Promise<void> {
  await ensurePackages(['slurmdbd', 'mariadb-server-core', 'mariadb-client-core']);
  const { port } = await freePorts(['port']);
  const sh = async (script: string, host = login, input = '', ...args: string[]) =>
    assertSuccess(script, await host.asRoot(['sh', '-ec', script, ...args], { input }));
  await sh(database, login, '', `${login.directory}/slurm/database`);
  const slurmdbd = `AuthType=auth/munge
DbdHost=${login.name}
DbdAddr=${login.address}
DbdPort=${port}
SlurmUser=slurm
LogFile=${login.directory}/slurm/state/slurmdbd.log
PidFile=${login.directory}/slurm/state/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
`;
  await sh(
    `umask 077; cat >${config}/slurmdbd.conf; chown slurm ${config}/slurmdbd.conf`,
    login,
    slurmdbd,
  );
  const accounting = `AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=${login.address}
AccountingStoragePort=${port}
AccountingStorageEnforce=associations,limits,qos
`;
  const replace = `sed -i /^AccountingStorageType/d ${config}/slurm.conf; cat >>${config}/slurm.conf`;
  for (const host of [login, ...nodes]) await sh(replace, host, accounting);
  await startSlurmdbd({ login });
  for (const entity of ['add cluster site', ...entities])
    await sh(`sacctmgr --immediate ${entity}`);
  await slurm.stopController();
  await slurm.startController();
  await slurm.waitForNodes();
}

/** Starts slurmdbd, and waits until it answers. */
export async function startSlurmdbd({ login }: Pick<SlurmSite, 'login'>): Promise<void> {
  assertSuccess('slurmdbd', await login.asRoot(['sh', '-c', daemon]));
}
