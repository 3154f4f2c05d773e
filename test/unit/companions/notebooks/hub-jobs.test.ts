import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { hubJobFiles, hubJobProfile } from '../../../../src/companions/notebooks/rules/hub-jobs.ts';
import { host } from '../../sessions/request/host.ts';

const profile = (fields: object = {}) =>
  parseProfile({ image: 'a', groups: ['lab'], ...fields }, 'p', 'p.yml');
const jobs = { account: 'jupyterhub', directory: '/etc/jobs' };
const files = (fields: object, pods: string[] = []) =>
  hubJobFiles(jobs, [hubJobProfile(profile(fields), pods)], host);

describe('the jobs of a hub', () => {
  it('are for profiles with groups, in the network of the node', () => {
    const ofProfile = (fields: object) => () => hubJobProfile(profile(fields), []);
    expect(ofProfile({ groups: undefined })).toThrow('the profile p has no groups');
    expect(ofProfile({ network: 'private' })).toThrow('the profile p has the network private');
    expect(ofProfile({ lifetime: 'user', timeouts: { soft: '1h' } })).toThrow('timeouts.soft');
    expect(ofProfile({ lifetime: '1h', timeouts: { warn: ['5m'] } })).toThrow('timeouts.warn');
  });

  it('have another name beside pods of the same profile', () => {
    const { choice } = hubJobProfile(profile(), ['p']);
    expect(choice).toMatchObject({ name: 'p-slurm', groups: ['lab'], backend: 'slurm' });
    expect(Object.keys(files({}, ['p']))).toEqual(['p-slurm.sh', 'end', 'sudoers']);
  });

  it('have what the profile asks of Slurm, and end when they are idle', () => {
    const script = files({ lifetime: 'user', grace: '10m', batch: { partition: 'gpu' } })['p.sh'];
    for (const line of [
      '--job-name=berth-hub-p',
      '--partition=gpu',
      '--output=/dev/null',
      '--no-requeue',
    ])
      expect(script).toContain(`#SBATCH ${line}\n`);
    expect(script).toMatch(/^in_container python3 -c "\$start_server" jupyterhub-singleuser /m);
    expect(script).toContain('--ServerApp.shutdown_no_activity_timeout=600');
  });

  it('get no more time than the profile gives sessions', () => {
    const script = files({ lifetime: '2h', batch: { time: '8h' } })['p.sh'];
    expect(script).toContain('#SBATCH --time=0-02:00:00\n');
  });

  it('are ended by a script that waits a minute at most for each command of Slurm', () => {
    const commands = (files({}).end ?? '').match(/\/usr\/bin\/timeout \S+ \S+ \/usr\/bin\/s\w+/g);
    const limited = '/usr/bin/timeout --signal=KILL 60 /usr/bin/s';
    expect(commands).toEqual([`${limited}queue`, `${limited}cancel`]);
  });

  it('are submitted by sudo as members of the groups, whatever these are called', () => {
    const { sudoers } = files({ groups: ['lab', 'domain users@corp'] });
    expect(sudoers).toContain(
      String.raw`jupyterhub ALL = (%lab, %domain\ users\@corp, !root) NOPASSWD: /usr/bin/sbatch --parsable /etc/jobs/p.sh, `,
    );
  });
});
