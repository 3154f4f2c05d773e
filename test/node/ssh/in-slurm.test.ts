import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { standardProfile } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const ann = 'alloc-ann';
const ben = 'alloc-ben';
const eventually = { timeout: 90_000, interval: 200 };

describe('a session in a job of Slurm', () => {
  let site: SlurmSite;

  beforeAll(async () => {
    const inJob = {
      ...{ ...standardProfile, backend: 'slurm', lifetime: 'user', grace: '2s' },
      limits: { cpus: 2, memory: '1G' },
    };
    site = await SlurmSite.start({
      mode: 'forced',
      users: { [ann]: ['alloc-group'], [ben]: [] },
      sshd: 'AcceptEnv BERTH_*',
      sshYml: {
        rules: [
          { users: [ben], profile: 'days' },
          { profile: 'chosen', on_request: true },
          { profile: 'aged', on_request: true },
          { profile: 'quiet', on_request: true },
          { profile: 'brief', on_request: true },
          { profile: 'short' },
        ],
      },
      profiles: {
        // No rule names it, and nobody looks at it.
        elsewhere: { ...inJob, slurm: {}, batch: { partition: 'absent' } },
        chosen: { ...inJob, batch: { choose: { time: { max: '2h' } } } },
        short: inJob,
        aged: { ...inJob, grace: '1h', timeouts: { soft: '1s' } },
        quiet: { ...inJob, timeouts: { idle: '4s' } },
        brief: { ...inJob, lifetime: 'connection', grace: undefined, batch: { wait: '1s' } },
        days: { ...inJob, batch: { time: '48h' } },
      },
    });
  });
  afterAll(() => site.stop());

  const jobs = async (user: string, format = '%j %T %r', ...more: string[]): Promise<string> => {
    const argv = ['squeue', '--me', '--local', '-h', '-o', format, ...more];
    return (await site.slurm.as(user, argv)).stdout.toString();
  };
  const state = (user: string): Promise<string[]> =>
    readdir(site.login.path(`${site.login.account(user).home}/.local/state`), { recursive: true });
  const left = async (user: string): Promise<string> => {
    // All hosts have the /tmp of the machine.
    const find = ['find', '/tmp', '-maxdepth', '1', '-user', user, '-name', 'berth-job-*'];
    find.push('-newer', `${site.login.directory}/known_hosts`);
    return (await site.nodes[0]?.asRoot(find))?.stdout.toString() ?? '';
  };

  it('three connections at once share one job, which ends after the last one and leaves nothing', async () => {
    const node = site.nodes[0];
    if (node === undefined) throw new Error('no node');
    const three = await Promise.all(
      [1, 2, 3].map(() =>
        site.login.ssh(ann, ['hostname; id -u; umask; touch by-job; echo $SLURM_JOB_ID']),
      ),
    );
    for (const { exitCode, stderr } of three) expect([exitCode, stderr]).toEqual([0, '']);
    const { uid, home } = site.login.account(ann);
    const outputs = new Set(three.map(({ stdout }) => stdout.toString()));
    expect(outputs.size).toBe(1);
    expect([...outputs][0]).toMatch(new RegExp(`^node1\n${uid}\n0022\n\\d+\n$`));
    expect((await node.asRoot(['stat', '-c', '%U:%G', `${home}/by-job`])).stdout.toString()).toBe(
      `${ann}:${ann}\n`,
    );
    expect(await jobs(ann)).toBe('berth-short RUNNING None\n');
    await expect.poll(() => jobs(ann), eventually).toBe('');
    await expect.poll(() => processesOf(node, ann), eventually).toEqual([]);
    await expect.poll(() => left(ann), eventually).toBe('');
    await expect.poll(() => state(ann), eventually).toEqual(['berth', 'berth/allocations']);
  });

  it('refuses at once what can never start, in words, and leaves no job', async () => {
    const { exitCode, stderr } = await site.login.ssh(ben, ['true']);
    expect(exitCode).toBe(255);
    expect(stderr).toMatch(
      /your session cannot start: it asks for more time than the partition allows; Slurm job \d+ was cancelled \[/,
    );
    await expect.poll(() => jobs(ben), eventually).toBe('');
  });

  it('a client that sends the variables of a job to the login node gets what everybody gets', async () => {
    const directory = `${site.login.account(ann).home}/job`;
    await site.login.asUser(ann, ['mkdir', '-m', '0700', directory]);
    const env = { PATH: '/usr/bin:/bin', BERTH_JOB_DIRECTORY: directory, BERTH_ENV_LANG: 'C' };
    const options = ['-o', 'SendEnv=BERTH_*'];
    const { exitCode, stdout } = await site.login.ssh(ann, [...options, 'hostname'], { env });
    expect([exitCode, stdout.toString()]).toEqual([0, 'node1\n']);
    expect(await readdir(site.login.path(directory))).toEqual([]);
  });

  it('a client chooses a profile and the time of its job, within its limits', async () => {
    const ask = (env: string, command = 'echo $BERTH_PROFILE') =>
      site.login.ssh(ann, ['-o', `SetEnv=${env}`, command]);
    const chosen = await ask('BERTH_PROFILE=chosen BERTH_TIME=90m');
    expect([chosen.exitCode, chosen.stdout.toString()]).toEqual([0, 'chosen\n']);
    expect(await jobs(ann, '%l', '-n', 'berth-chosen')).toBe('1:30:00\n');
    await site.slurm.as(ann, ['scancel', '--me', '--name=berth-chosen']);
    const refusals: [string, string][] = [
      [
        'BERTH_PROFILE=days',
        'the client asks for the profile "days"; it can ask for chosen, aged, quiet, brief, short [',
      ],
      [
        'BERTH_TIME=3h',
        'BERTH_TIME="3h" is not possible: this profile does not let you choose it [',
      ],
      [
        'BERTH_PROFILE=chosen BERTH_TIME=3h',
        'BERTH_TIME="3h" is not possible: this profile allows at most 2h [',
      ],
    ];
    for (const [env, words] of refusals) {
      const { exitCode, stderr } = await ask(env);
      expect([exitCode, stderr]).toEqual([255, expect.stringContaining(words)]);
    }
  });

  it('the login lists and ends the job, and asks Slurm once', async () => {
    const command = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await site.login.ssh(ann, args);
      return { code: exitCode, out: stdout.toString(), err: stderr };
    };
    const { out: profiles } = await command('berth profiles');
    expect(profiles).toMatch(/^short +yes +slurm +\S+ +2 +1.0G +- +-$/m);
    expect(profiles).toMatch(/^chosen +no +slurm .* BERTH_TIME up to 2h$/m);
    const session = LiveSession.start(site.login, ann, ['echo ready; sleep 600']);
    await session.waitForOutput('ready');
    const listed = await command('berth sessions');
    expect([listed.code, listed.err]).toEqual([0, '']);
    const [, id = ''] =
      /^NAME .*\nberth-short +short +slurm (\d+) +running +\d+s +- +2 s after your last connection.*\n$/.exec(
        listed.out,
      ) ?? [];
    expect(id, listed.out).not.toBe('');
    const requestsFor = async (work: () => Promise<unknown>): Promise<number> => {
      const count = async (): Promise<number> => {
        const { stdout } = await site.login.asRoot(['sdiag']);
        return Number(new RegExp(`${ann} .* count:(\\d+)`).exec(stdout.toString())?.[1]);
      };
      const before = await count();
      await work();
      return (await count()) - before;
    };
    const asked = await requestsFor(async () =>
      expect((await command('berth status')).out).toMatch(
        /^JOB +PROFILE +STATE +NODE +LEFT\n\d+ +short +running +node_1\S* +\S.*\n$/,
      ),
    );
    expect(asked).toBe(1);
    expect(await site.login.ssh(ben, [`berth end ${id}`])).toMatchObject({ exitCode: 69 });
    expect(await command(`berth end ${id}`)).toEqual({
      ...{ code: 0, out: 'ended slurm/berth-short\n', err: '' },
    });
    await session.exitCode();
    await expect.poll(() => jobs(ann), eventually).toBe('');
  });

  it('tells the terminal when its job comes near its time limit, and writes nothing that a program reads', async () => {
    const options = ['-o', 'SetEnv=BERTH_PROFILE=chosen BERTH_TIME=10m'];
    const terminal = LiveSession.start(site.login, ann, [...options, '-tt', 'echo ready; cat']);
    const piped = LiveSession.start(site.login, ann, [...options, 'echo ready; cat']);
    await Promise.all([terminal, piped].map((one) => one.waitForOutput('ready')));
    const reap = [join(installDirectory, 'berth'), 'reap'];
    expect(await site.login.asRoot(reap)).toMatchObject({ exitCode: 0 });
    await terminal.waitForOutput('Save your work. ***');
    expect(terminal.output).toMatch(
      /\*\*\* The lifetime of your job \d+ is nearly over: it ends in about (?:9|10) minutes\./,
    );
    await site.slurm.as(ann, ['scancel', '--me', '--name=berth-chosen']);
    expect([await terminal.exitCode(), await piped.exitCode()]).toEqual([255, 255]);
    expect(piped.output).not.toContain('***');
  });

  it('ends with its last connection, without its grace, from the age of timeouts.soft on', async () => {
    const options = ['-o', 'SetEnv=BERTH_PROFILE=aged', 'sleep 1'];
    expect(await site.login.ssh(ann, options)).toMatchObject({ exitCode: 0 });
    await expect.poll(() => jobs(ann), eventually).not.toContain('berth-aged');
  });

  it('ends when none of its connections carries anything for the time of timeouts.idle', async () => {
    const reap = () => site.login.asRoot([join(installDirectory, 'berth'), 'reap']);
    const start = async (...args: string[]): Promise<LiveSession> => {
      const options = ['-o', 'SetEnv=BERTH_PROFILE=quiet', ...args];
      const session = LiveSession.start(site.login, ann, options);
      await session.waitForOutput('ready');
      return session;
    };
    const terminal = await start('-tt', 'echo ready; cat');
    const printing = await start('echo ready; while sleep 1; do echo .; done');
    await reap();
    await sleep(5_000);
    await reap();
    expect([terminal.client.exitCode, printing.client.exitCode]).toEqual([null, null]);
    await printing.kill();
    const quiet = await start('echo ready; cat');
    const ended = /session ended at its limit.* limit=idle/;
    await expect.poll(async () => (await reap()).stderr, eventually).toMatch(ended);
    for (const session of [terminal, quiet]) {
      expect(await session.outputAtEnd()).toMatch(
        /\*\*\* Nothing was typed or shown on your connections to job \d+ for .* this session ends now\./,
      );
      expect(await session.exitCode()).toBe(255);
    }
    await expect.poll(() => jobs(ann), eventually).not.toContain('berth-quiet');
  });

  it('is planned with its job script, and doctor asks Slurm whether it accepts it', async () => {
    const berth = join(installDirectory, 'berth');
    const plan = await site.login.asRoot([berth, 'plan', '--ssh', '--user', ann]);
    expect(plan.stdout.toString()).toMatch(
      /job berth-short-CONNECTION|job berth-short, submitted if no job of an earlier login/,
    );
    expect(plan.stdout.toString()).toContain('#SBATCH --cpus-per-task=2\n');
    const argv = [berth, 'doctor', '--user', ann, '-o', 'json'];
    const { stdout } = await site.login.asRoot(argv);
    const { checks } = berthDocument(stdout.toString()) as { checks: CheckResult[] };
    const found = checks.filter(({ id }) => id.startsWith('ssh-slurm'));
    expect(found.map(({ id, status, message }) => `${id} ${status} ${message}`)).toEqual([
      'ssh-slurm ok the programs for sessions in jobs of Slurm are installed',
      expect.stringMatching(/^ssh-slurm-job ok profile aged: /),
      expect.stringMatching(/^ssh-slurm-job ok profile brief: /),
      expect.stringMatching(/^ssh-slurm-job ok profile chosen: Slurm accepts the job of alloc-ann/),
      // Its time limit is only noticed in the queue.
      expect.stringMatching(/^ssh-slurm-job ok profile days: /),
      expect.stringMatching(/^ssh-slurm-job ok profile quiet: /),
      expect.stringMatching(/^ssh-slurm-job ok profile short: Slurm accepts the job of alloc-ann/),
    ]);
  });

  it('says that the job has ended, if it is cancelled under a session', async () => {
    const session = site.login.ssh(ann, ['echo up; sleep 600']);
    await expect.poll(() => jobs(ann), eventually).toContain('RUNNING');
    const processes = () => processesOf(site.nodes[0] ?? site.login, ann);
    await expect.poll(async () => (await processes()).join(), eventually).toContain('sleep 600');
    await site.slurm.as(ann, ['scancel', '--me']);
    const { exitCode, stderr } = await session;
    expect(exitCode).toBe(255);
    expect(stderr).toMatch(/the Slurm job \d+ of your session was cancelled \[slurm-job-ended/);
    await expect.poll(() => left(ann), eventually).toBe('');
  });

  it('leaves nothing on the node if all its processes are killed', async () => {
    const session = site.login.ssh(ann, ['sleep 600']);
    const node = site.nodes[0] ?? site.login;
    const own = async (): Promise<string> => (await processesOf(node, ann)).join();
    await expect.poll(own, eventually).toContain('sleep 600');
    await node.asRoot(['pkill', '-KILL', '-u', ann]);
    expect((await session).exitCode).toBe(255);
    await expect.poll(() => jobs(ann), eventually).toBe('');
    await expect.poll(() => left(ann), eventually).toBe('');
    await expect.poll(own, eventually).toBe('');
  });

  it('waits while the node is in use, says why on a terminal, and ctrl-C cancels the job', async () => {
    const blocker = await site.slurm.sbatch(ben, '#!/bin/sh\nexec sleep 600\n', [
      '--cpus-per-task=2',
    ]);
    await site.slurm.waitForState(blocker, 'RUNNING');
    const terminal = LiveSession.start(site.login, ann, ['-tt']);
    await terminal.waitForOutput(' waits: ');
    terminal.client.stdin?.write('\u0003');
    await terminal.waitForOutput(' was cancelled');
    await expect.poll(() => jobs(ann), eventually).toBe('');

    const waits = site.login.ssh(ann, ['true']);
    await expect.poll(() => jobs(ann), eventually).toContain('PENDING');
    await site.slurm.as(ann, ['scancel', '--me']);
    expect((await waits).stderr).toMatch(
      /the Slurm job \d+ of your session was cancelled before it could be used \[slurm-job-ended/,
    );

    const brief = await site.login.ssh(ann, ['-o', 'SetEnv=BERTH_PROFILE=brief', 'true']);
    expect(brief.stderr).toMatch(/did not start within 1 second.* this one was cancelled\.$/m);
    await expect.poll(() => jobs(ann), eventually).toBe('');
    await site.slurm.as(ben, ['scancel', blocker]);
  });
});
