import { installBerth } from '../../rig/site/portal.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';
import { median, measure } from '../measure.ts';
import { checkBound, printLine } from '../report.ts';
import { jobProfile, sshCommand } from './job-nodes.ts';
import { requestsByType } from './slurm-requests.ts';

/** Of these, `width` connect at the same time, and four have a job. */
const [users, width, nodes] = [200, 8, 2];
const names = Array.from({ length: users }, (_, index) => `bench-job-${index + 1}`);

export function openUsers(): Promise<SlurmSite> {
  return installBerth().then(() =>
    SlurmSite.start(
      {
        ...{ mode: 'forced', users: Object.fromEntries(names.map((name) => [name, []])) },
        profiles: { base: { ...jobProfile, grace: '2s', limits: { cpus: 1, memory: '600M' } } },
      },
      nodes,
    ),
  );
}

/** Two sessions at once of each of 200 users, and what slurmctld is asked for them. */
export async function jobUsers({ login }: SlurmSite): Promise<void> {
  const before = await requestsByType(login);
  const queue = [...names];
  const walls: number[] = [];
  const began = performance.now();
  const work = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const session = sshCommand(login, name, ['sleep 1']);
      const both = await Promise.all([measure(session), measure(session)]);
      walls.push(...both.map(({ wall }) => wall));
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  const seconds = (performance.now() - began) / 1000;
  printLine(
    `${walls.length} sessions of ${users} users in ${seconds.toFixed(0)} s; the median took ${(median(walls) / 1000).toFixed(1)} s, the longest ${(Math.max(...walls) / 1000).toFixed(1)} s`,
  );
  const asked = [...(await requestsByType(login))]
    .map(([type, count]) => [type, count - (before.get(type) ?? 0)] as const)
    .filter(([, count]) => count > 0);
  for (const [type, count] of asked)
    printLine(`${type}: ${count}, ${(count / walls.length).toFixed(2)} for each session`);
  const jobs = asked.find(([type]) => type === 'REQUEST_SUBMIT_BATCH_JOB')?.[1] ?? 0;
  checkBound('jobs of each user', jobs / users, { atMost: 1 });
}
