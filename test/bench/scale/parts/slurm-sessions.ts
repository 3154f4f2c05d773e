import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { installBerth } from '../../../rig/site/portal.ts';
import { SlurmSite } from '../../../rig/slurm/slurm-site.ts';
import { jobProfile, sshCommand } from '../../ssh/job-nodes.ts';
import { closeIdle, idleWords, openIdle } from '../../ssh/pod-idle.ts';
import { requestsByType } from '../../ssh/slurm-requests.ts';
import type { ScalePart } from '../parts.ts';

const counts = [10, 30, 60];
const restMs = 60_000;
/** Each has room for 16 allocations of 128 MB. */
const nodes = 4;

/**
 * Sessions in allocations of Slurm, and what slurmctld is asked for them. Each user has one allocation; two of three have a
 * second session in it. The requests of a connection do not depend on how many there are, so 500 sessions in 300
 * allocations make as many as these, times their number.
 */
export const slurmSessions: ScalePart = {
  title: 'Requests to slurmctld of sessions in allocations',
  async run(record) {
    await installBerth();
    const names = Array.from(
      { length: Math.max(...counts) },
      (_, index) => `bench-job-${index + 1}`,
    );
    const site = await SlurmSite.start(
      {
        ...{ mode: 'forced', users: Object.fromEntries(names.map((name) => [name, []])) },
        profiles: {
          base: {
            ...{ ...jobProfile, grace: '1h', limits: { cpus: 1, memory: '128M' } },
            batch: { partition: 'shared' },
          },
        },
      },
      nodes,
      'PartitionName=shared Nodes=ALL OverSubscribe=FORCE:100 State=UP\n',
    );
    const clients: ChildProcess[] = [];
    const asked = async (): Promise<number> =>
      [...(await requestsByType(site.login)).values()].reduce((sum, count) => sum + count, 0);
    /** Opens one session of each user. @returns the requests of each connection */
    const open = async (users: readonly string[]): Promise<number> => {
      const before = await asked();
      const rest = users.values();
      clients.push(
        ...(await openIdle(users.length, () =>
          sshCommand(site.login, rest.next().value ?? '', idleWords),
        )),
      );
      return ((await asked()) - before) / users.length;
    };
    try {
      let from = 0;
      for (const count of counts) {
        const users = names.slice(from, count);
        from = count;
        const size = { count, of: 'allocations' };
        const makes = await open(users);
        record({
          what: 'requests of a connection that makes an allocation',
          size,
          value: makes,
          unit: '',
        });
        const joins = await open(users.slice(0, 10 * Math.ceil(users.length / 15)));
        record({
          what: 'requests of a connection that joins one',
          size,
          value: joins,
          unit: '',
          wanted: { atMost: 1 },
        });
        const before = await asked();
        await sleep(restMs);
        const rested = (await asked()) - before;
        record({
          what: 'requests of all sessions in a minute at rest',
          size,
          value: rested,
          unit: '',
          wanted: { atMost: 0 },
        });
      }
    } finally {
      await closeIdle(clients);
      await site.stop();
    }
  },
};
