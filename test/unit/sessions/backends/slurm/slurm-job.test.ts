import { describe, expect, it } from 'vitest';
import {
  neverStarts,
  waitingText,
} from '../../../../../src/sessions/backends/slurm/argv/pending-reasons.ts';
import { jobEndText } from '../../../../../src/sessions/backends/slurm/argv/job-end.ts';
import { refusalText } from '../../../../../src/sessions/backends/slurm/argv/refusals.ts';
import {
  isOpen,
  parseJob,
  parseQueue,
} from '../../../../../src/sessions/backends/slurm/argv/slurm-job.ts';
import { clientsEnd } from '../../../../../src/sessions/backends/slurm/argv/ssh-to-job.ts';
import { endWithoutUse } from '../../../../../src/sessions/backends/slurm/own-jobs.ts';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import { isCgroupOfJob } from '../../../../../src/system/job-cgroup.ts';

const submitted = 1_795_000_000;
const record = { id: '12', submitted, name: 'berth-gpu', key: '0123456789abcdef' };
const line = (state: string, reason = 'None', more = '1:00:00|N/A|0|'): string =>
  `12|${submitted + 20}|${state}|${reason}|node1|1795003600|1795000000|${more}\n`;
const parsed = (text: string) => parseQueue(text, [record, { ...record, id: '7' }]);
const jobOf = (state: string, reason: string, more?: string) => {
  const [job] = parsed(line(state, reason, more));
  if (job === undefined) throw new Error('no job');
  return job;
};

describe("squeue's list", () => {
  it('has the jobs that logins have submitted, oldest first', () => {
    const other = line('RUNNING').replace('12', '7');
    const foreign = line('RUNNING').replace('12', '13');
    expect(parsed(line('RUNNING') + foreign + other).map(({ id }) => id)).toEqual(['7', '12']);
    expect(parsed(line('RUNNING'))).toEqual([
      {
        ...{ ...record, state: 'RUNNING', reason: 'None', node: 'node1', timeLimit: '1:00:00' },
        ...{ end: 1_795_003_600, start: 1_795_000_000, preempted: 'N/A', exitCode: '0' },
      },
    ]);
  });

  it('leaves out a job that got the number of an earlier one, from a slurmctld that began anew', () => {
    expect(parsed(line('RUNNING').replace(`${submitted + 20}`, `${submitted + 86_400}`))).toEqual(
      [],
    );
  });

  it('has no end without a time limit', () => {
    expect(parsed(line('RUNNING').replace('1795003600', 'N/A'))[0]?.end).toBeUndefined();
  });

  it.each([
    [
      true,
      ['PENDING', 'RUNNING', 'SIGNALING', 'RESV_DEL_HOLD', 'EXPEDITING', 'OF_A_LATER_RELEASE'],
    ],
    [false, ['COMPLETING', 'COMPLETED', 'REVOKED', 'STAGE_OUT', 'DEADLINE', '']],
  ])('open is %s for the states %j', (open, states) =>
    expect(states.filter((state) => isOpen(state) !== open)).toEqual([]),
  );
});

describe("scontrol's answer", () => {
  const shown = `JobId=12 JobName=x JobState=COMPLETED BatchHost=evil
   UserId=ann lee(1000) GroupId=ann(1000) MCS_label=N/A
   Priority=1 Nice=0 Account=lab QOS=normal
   JobState=SIGNALING Reason=None Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:03 TimeLimit=08:00:00 TimeMin=N/A
   SubmitTime=${submitted} EligibleTime=${submitted}
   StartTime=1795000000 EndTime=1795003600 Deadline=N/A
   PreemptEligibleTime=1795000000 PreemptTime=None
   NodeList=node1
   BatchFeatures=gpu BatchHost=node1
   Command=(null)
   Comment=x BatchHost=evil
`;
  it('is read in linear time, whatever name the user gives the job', () => {
    const name = `x\n   ${'a=a'.repeat(20_000)} `;
    const began = performance.now();
    expect(parseJob(shown.replace('JobName=x', `JobName=${name}`), record, 1000)).toBeDefined();
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('has the same, and nothing of what the user or the site has written', () => {
    expect(parseJob(shown, record, 1000)).toEqual({
      ...jobOf('SIGNALING', 'None', '8:00:00|None|0'),
    });
    expect(parseJob(shown.replace(/^ .*BatchHost.*$/m, ''), record, 1000)?.node).toBe('');
  });

  it.each([
    ['of another user', shown, 1001],
    ['with the number of an earlier one', shown.replace('SubmitTime=1', 'SubmitTime=2'), 1000],
    ['of another format', 'JobId=12', 1000],
  ])('is none if it is of a job %s', (_, text, uid) =>
    expect(parseJob(text, record, uid)).toBeUndefined(),
  );
});

describe('a job that waits', () => {
  it.each([
    ['Resources', 'all suitable nodes are in use'],
    [
      'QOSMaxJobsPerUserLimit',
      'a limit of your account or QOS is reached (QOSMaxJobsPerUserLimit)',
    ],
    ['JobHeldUser', 'it is held: release it with `scontrol release 12`'],
    ['SomethingNew', 'SomethingNew'],
  ])('for %s: in words', (reason, words) => {
    expect(waitingText(jobOf('PENDING', reason))).toContain(`Slurm job 12 waits: ${words}`);
  });

  it.each([
    ['PartitionTimeLimit', true],
    ['QOSMaxWallDurationPerJobLimit', true],
    ['PartitionNodeLimit', false],
    ['AssocMaxJobsLimit', false],
    ['QOSMaxCpuPerUserLimit', false],
    ['Resources', false],
  ])('for %s: never starts is %s', (reason, never) => {
    expect(neverStarts(jobOf('PENDING', reason))).toBe(never);
  });
});

describe('a cgroup', () => {
  it.each([
    ['0::/system.slice/slurmstepd.scope/job_3/step_batch/user/task_0', true],
    ['0::/system.slice/node1_slurmstepd.scope/job_3/step_batch/user/task_0', true],
    ['5:memory:/slurm_node1/uid_1000/job_3/step_batch/task_0', true],
    ['5:memory:/slurm/uid_1001/job_3/step_batch/task_0', false],
    [
      '0::/user.slice/user-1000.slice/user@1000.service/system.slice/slurmstepd.scope/job_3/x',
      false,
    ],
    ['5:memory:/user/slurm/uid_1000/job_3/step_batch', false],
    ['0::/system.slice/ssh.service', false],
  ])('%s: of a job of the user is %s', (text, is) => expect(isCgroupOfJob(text, 1000)).toBe(is));
});

it('what sbatch says is said in words first', () => {
  const said = 'Batch job submission failed: Invalid qos specification';
  expect(refusalText(said)).toBe(`the QOS does not exist, or is not for you (${said})`);
  expect(refusalText('something new')).toBe('something new');
});

describe('a job that nobody uses', () => {
  const job = jobOf('RUNNING', 'None');
  const ends = (document: object, times = {}) => {
    const profile = parseProfile({ image: 'a', backend: 'slurm', ...document }, 'gpu', 'gpu.yml');
    return endWithoutUse(profile, { ...job, ...times }, undefined);
  };
  const after = { after: 'last-connection', waitsForProcesses: false };

  it('ends after the grace of its profile, whatever still runs in it', () => {
    expect(ends({ lifetime: 'user', grace: '5m', linger: true })).toEqual({
      ...{ ...after, graceMs: 300_000 },
    });
  });

  it('stays for the time that is its lifetime, if its own time limit is longer', () => {
    // The job in the queue has an hour.
    expect(ends({ lifetime: '30m' })).toEqual({ ...after, graceMs: 1_800_000 });
    expect(ends({ lifetime: '1h' })).toEqual({});
    const unknown = { start: undefined, end: undefined };
    expect(ends({ lifetime: '8h' }, unknown)).toEqual({});
    // It gets no more than its lifetime then.
    expect(ends({ lifetime: '8h', batch: { time: '24h' } }, unknown)).toEqual({});
  });
});

describe('the end of a job', () => {
  it.each([
    ['CANCELLED None N/A 0 1:00', 'was cancelled'],
    ['COMPLETING None N/A 0 1:00', 'was cancelled'],
    [
      'COMPLETING None 2026-11-26T14:44:33 0 1:00',
      'was preempted: Slurm gives its node to a job that goes first',
    ],
    ['TIMEOUT TimeLimit N/A 0 8:00:00', 'has reached its time limit of 8:00:00'],
    ['COMPLETING TimeLimit N/A 0 8:00:00', 'has reached its time limit of 8:00:00'],
    ['NODE_FAIL NodeDown N/A 0 1:00', 'has ended because its node failed'],
    ['OUT_OF_MEMORY OutOfMemory N/A 9 1:00', 'has used up its memory'],
    ['COMPLETING NonZeroExitCode N/A 1 1:00', 'has ended'],
    ['RUNNING None N/A 0 1:00', undefined],
  ])('%j: %s', (text, words) => {
    const [state = '', reason = '', preempted = '', exit = '', limit = ''] = text.split(' ');
    expect(jobEndText(jobOf(state, reason, `${limit}|${preempted}|${exit}`))).toBe(words);
  });

  it('is not known if slurmctld has forgotten it', () => {
    expect(jobEndText(undefined)).toBe('has ended');
  });
});

describe("what OpenSSH's client says of an exit with 255", () => {
  const line = 'debug1: clientloop.c:client_loop():1531 (pid=7): Exit status';
  const alive = 'clientloop.c:server_alive_check():676 (pid=7): Timeout, server';
  const refused = 'connect to host n1 port 2: Connection refused';
  const timedOut = 'connect to host n1 port 2: Connection timed out';
  const lost = { isOfCommand: false, isSilent: false, isUnanswered: false, words: '' };
  it.each([
    [`${line} 255\n`, { ...lost, isOfCommand: true }],
    [`${line} -1\r\n`, lost],
    [`ssh: ${refused}\r\n`, { ...lost, words: refused }],
    [`ssh: ${timedOut}\r\n`, { ...lost, isUnanswered: true, words: timedOut }],
    [`${alive} n1 not responding.\r\n`, { ...lost, isUnanswered: true }],
    [
      `${refused}\nmm_receive_fd: recvmsg: expected received 1 got 0\r\nproxy dialer did not pass back a connection\r\n`,
      { ...lost, words: refused },
    ],
    ['', { ...lost, isSilent: true }],
  ])('%j', (log, end) => expect(clientsEnd(log)).toEqual(end));
});
