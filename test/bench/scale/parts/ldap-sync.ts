import { join } from 'node:path';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { openSite } from '../../../rig/site/site.ts';
import { TimerHost } from '../../../rig/site/timer-host.ts';
import { baseDn, readerAccount, Slapd } from '../../../rig/slapd.ts';
import { type Command, measure, type Sample } from '../../measure.ts';
import type { RecordFigure } from '../figures.ts';
import { changePeople, directoryOf, namespacesOf, peoplePerNamespace } from '../ldap-crowd.ts';
import { startOwnCluster } from '../own-cluster.ts';
import type { ScalePart } from '../parts.ts';
import { requestsOf } from '../requests-of.ts';
import { scaled } from '../scaled.ts';

const account = 'berth-ldap-sync';
const changed = 100;

/** Wall time of the runs for one size, in milliseconds for each person. */
interface Pace {
  readonly first: number;
  readonly later: number;
}

/** `berth ldap-sync` of a whole directory, for which a third of the people have namespaces on the cluster. */
export const ldapSync: ScalePart = {
  title: '`berth ldap-sync`, one namespace for every third person and one group for twelve',
  async run(record) {
    // A site that is started removes what was installed before.
    await openSite();
    await installBerth();
    const paces: Pace[] = [];
    for (const people of scaled(10_000, 30_000, 60_000)) paces.push(await ofSize(people, record));
    for (const run of ['first', 'later'] as const)
      record({
        what: `time for each person in the ${run} run: the largest directory's divided by the smallest's`,
        ...{ value: (paces.at(-1)?.[run] ?? 0) / (paces[0]?.[run] ?? 1), unit: '' },
        wanted: { atMost: 1.1 },
      });
  },
};

async function ofSize(people: number, record: RecordFigure): Promise<Pace> {
  const own = await startOwnCluster();
  const { certificates, ca } = own.site;
  let slapd: Slapd | undefined;
  let host: TimerHost | undefined;
  try {
    const certificate = own.site.record.serverCertificate;
    slapd = await Slapd.start(
      { certificate, ca: certificates.cert, database: ['maxsize 4294967296'] },
      directoryOf(people),
    );
    host = await TimerHost.create(own.site, {
      name: 'scale-ldap',
      account,
      components: ['ldap-sync'],
    });
    await host.configure({
      ldap: {
        url: `ldaps://127.0.0.1:${slapd.ports.ldaps}`,
        ...{ ca_file: ca.file, bind_dn: readerAccount.dn, bind_password_file: slapd.passwordFile },
        users: { base: `ou=people,${baseDn}` },
        groups: { base: `ou=groups,${baseDn}` },
      },
    });
    await own.load.createAll('namespaces', namespacesOf(people));
    const last = people - 1 - ((people - 1) % peoplePerNamespace);
    await own.controllersDone(`u-crowd${last}`);

    const command = syncCommand(host);
    const run = async (what: string, writes: number): Promise<Sample> => {
      const mark = await own.site.audit.mark();
      const sample = await measure(command);
      const requests = requestsOf(await own.site.audit.since(mark), account);
      const size = { count: people, of: 'people' };
      record({ what: `${what}: time`, size, value: sample.wall / 1000, unit: 's' });
      const wanted = { atMost: 300 };
      record({ what: `${what}: memory`, size, value: sample.rss / 1024, unit: 'MiB', wanted });
      const written = requests.get('patch namespaces') ?? 0;
      // Neither more nor fewer.
      record({
        what: `${what}: namespaces written`,
        size,
        value: written,
        unit: 'requests',
        wanted: { atMost: writes },
      });
      record({
        what: `${what}: lists`,
        size,
        value: requests.get('list namespaces') ?? 0,
        unit: 'requests',
      });
      if (written < writes) throw new Error(`${what}: ${written} of ${writes} were written`);
      return sample;
    };
    const first = await run('the first run', Math.ceil(people / peoplePerNamespace));
    const few = Math.min(changed, Math.floor(people / peoplePerNamespace));
    await changePeople(slapd, few);
    const later = await run(`a run after ${few} changes`, few);
    await run('a run without changes', 0);
    return { first: first.wall / people, later: later.wall / people };
  } finally {
    await host?.remove();
    await slapd?.remove();
    await own.stop();
  }
}

function syncCommand({ config }: TimerHost): Command {
  const args = ['ldap-sync', '--config', config, '--timeout', '10m'];
  const env = { PATH: '/usr/bin:/bin', HOME: '/root', LANG: 'C.UTF-8' };
  return { file: join(installDirectory, 'berth'), args, env };
}
