import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { standardProfile, type SshHost } from '../../rig/login-node/ssh-host.ts';
import { repetitions } from '../../rig/soak.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const ann = 'fault-ann';
const ben = 'fault-ben';
const cut = 'fault-cut';
const mute = 'fault-mute';
/** A job that nobody has used ends after a minute. */
const eventually = { timeout: 80_000, interval: 200 };

/** An urgent job takes a node from sessions. slurmctld is given up after seconds. */
const conf = `PreemptType=preempt/partition_prio
PreemptMode=CANCEL
MessageTimeout=3
PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP
`;

describe('when something fails under a session in a job of Slurm', () => {
  let site: SlurmSite;
  /** Whose time is over when slurmctld looks, which it does twice a minute. */
  let late: Live;
  /** Whose node's network loses everything. Two nodes are theirs alone. */
  let unheard: Live & { readonly ended: Promise<number> };

  beforeAll(async () => {
    const inJob = {
      ...{ ...standardProfile, backend: 'slurm' },
      limits: { cpus: 1, memory: '600M' },
    };
    const shared = { ...inJob, lifetime: 'user', grace: '2s' };
    site = await SlurmSite.start(
      {
        mode: 'forced',
        users: { [ann]: [], [ben]: [], [cut]: [], [mute]: [] },
        sshYml: {
          rules: [
            { users: [cut], profile: 'each' },
            { users: [ben, mute], profile: 'other' },
            { profile: 'base' },
          ],
        },
        profiles: {
          base: shared,
          other: { ...shared, limits: { cpus: 2, memory: '600M' } },
          each: inJob,
        },
      },
      4,
      conf,
    );
    late = await open(ben);
    await asRoot('scontrol', 'update', `JobId=${late.job}`, 'EndTime=now+5');
    const live = await open(mute);
    await site.networkOf(live.node).silence();
    const began = performance.now();
    unheard = { ...live, ended: live.session.exitCode().then(() => performance.now() - began) };
  });
  afterAll(() => site.stop());

  const asRoot = async (...argv: string[]): Promise<string> => {
    const { stdout, stderr, exitCode } = await site.login.asRoot(argv);
    expect(exitCode, stderr).toBe(0);
    return stdout.toString();
  };
  const jobs = async (user: string): Promise<string> =>
    (await site.slurm.as(user, ['squeue', '--me', '-h', '-o', '%j %T'])).stdout.toString();

  interface Live {
    readonly session: LiveSession;
    readonly job: string;
    readonly node: SshHost;
  }
  const open = async (user: string): Promise<Live> => {
    const session = LiveSession.start(site.login, user, [
      'echo in job $SLURM_JOB_ID on $(hostname) .; cat; exit 7',
    ]);
    await session.waitForOutput(' .\n');
    const [, job = '', name] = /in job (\d+) on (\S+)/.exec(session.output) ?? [];
    const node = site.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(session.output);
    return { session, job, node };
  };
  const nodeName = ({ node }: Live): string => site.slurm.nodes[site.nodes.indexOf(node)] ?? '';
  /** Whether the session still does what it is told, with the command's exit code at its end. */
  const answers = async ({ session }: Live): Promise<void> => {
    session.client.stdin?.end('still here\n');
    expect(await session.exitCode()).toBe(7);
    expect(await session.outputAtEnd()).toContain('still here\n');
  };
  const ended = async (
    { session, job }: Live,
    words: string,
    code = 'slurm-job-ended',
  ): Promise<void> => {
    const output = await session.outputAtEnd();
    expect(output).toContain(`the Slurm job ${job} of your session ${words} [${code},`);
    expect(session.client.exitCode).toBe(255);
  };
  const left = async (user: string): Promise<unknown> => {
    const { home } = site.login.account(user);
    // All hosts have the /tmp of the machine.
    const find = ['find', '/tmp', '-maxdepth', '1', '-user', user, '-name', 'berth-job-*'];
    const ofThisTest = ['-newer', `${site.login.directory}/known_hosts`];
    const hosts = [site.login, ...site.nodes];
    return {
      jobs: await jobs(user),
      directories: await asRoot(...find, ...ofThisTest),
      processes: (await Promise.all(hosts.map((host) => processesOf(host, user)))).flat(),
      keys: await readdir(site.login.path(`${home}/.local/state/berth/allocations`)),
    };
  };
  const nothing = { jobs: '', directories: '', processes: [], keys: [] };
  const leavesNothing = (user: string): Promise<void> =>
    expect.poll(() => left(user), eventually).toEqual(nothing);

  it.each<[string, (live: Live) => Promise<unknown>, string]>([
    ['a cancelled job', ({ job }) => site.slurm.as(ann, ['scancel', job]), 'was cancelled'],
    [
      'a preempted job',
      (live) =>
        site.slurm.sbatch(cut, '#!/bin/sh\ntrue\n', [
          ...['-p', 'urgent', '--exclusive', '-o', '/dev/null', `--nodelist=${nodeName(live)}`],
        ]),
      'was preempted: Slurm gives its node to a job that goes first',
    ],
    [
      'a node that is down for Slurm',
      async (live) => {
        // As slurmctld does by itself if a node does not answer. It comes back when it answers.
        await asRoot(
          'scontrol',
          'update',
          `NodeName=${nodeName(live)}`,
          'State=DOWN',
          'Reason=test',
        );
      },
      'has ended because its node failed',
    ],
  ])('names the end of %s', async (_, end, words) => {
    const live = await open(ann);
    await end(live);
    await ended(live, words);
    await leavesNothing(ann);
  });

  it('names a node whose power is off, and the next login gets another one', async () => {
    const live = await open(ann);
    await live.node.kill();
    await ended(live, 'failed, and Slurm says that it runs', 'slurm-connection-lost');
    await asRoot('scontrol', 'update', `NodeName=${nodeName(live)}`, 'State=DOWN', 'Reason=test');
    const next = await open(ann);
    expect(next.node.name).not.toBe(live.node.name);
    await answers(next);
    await site.slurm.bootNode(live.node);
    // A system that boots removes what is in /tmp. The keys of the job stay until a later login makes a job.
    await asRoot('sh', '-c', `rm -rf /tmp/berth-job-${live.job}-*`);
    await expect.poll(() => jobs(ann), eventually).toBe('');
    const { home } = site.login.account(ann);
    await asRoot('sh', '-c', `touch -d '2 hours ago' ${home}/.local/state/berth/allocations/*`);
    await answers(await open(ann));
    await leavesNothing(ann);
  });

  it("leaves no keys if the end of podman's directory fails", async () => {
    const live = await open(ann);
    const find = ['find', '/tmp', '-maxdepth', '1', '-user', ann, '-newer'];
    find.push(`${site.login.directory}/known_hosts`, '-name', `berth-job-${live.job}-*`, '-exec');
    await asRoot(...find, 'mkdir', '-p', '{}/ofRoot/full', ';');
    await answers(live);
    const leftOfUser = async () => ({ ...((await left(ann)) as object), directories: '' });
    await expect.poll(leftOfUser, eventually).toEqual(nothing);
    // The epilog leaves what is not the user's, and nothing else.
    await asRoot(...find, 'rm', '-r', '{}/ofRoot', ';');
    await asRoot(...find, 'rmdir', '{}', '+');
    await leavesNothing(ann);
  });

  it('goes on while slurmd of its node is away', async () => {
    const live = await open(ann);
    await live.node.asRoot(['pkill', '-KILL', '-x', 'slurmd']);
    const second = await open(ann);
    expect(second.job).toBe(live.job);
    await answers(second);
    await site.slurm.startNode(live.node);
    await answers(live);
    await leavesNothing(ann);
  });

  it('goes on while slurmctld is away; a login then gets an error soon, and joins it later', async () => {
    const live = await open(ann);
    await site.slurm.stopController();
    const began = performance.now();
    const { exitCode, stderr } = await site.login.ssh(ann, ['true']);
    expect([exitCode, stderr]).toEqual([
      255,
      expect.stringMatching(
        /scontrol failed: .*Unable to contact slurm controller.*\[slurm-unavailable,/,
      ),
    ]);
    expect(performance.now() - began).toBeLessThan(20_000);
    const doctor = [join(installDirectory, 'berth'), 'doctor', '--user', ann, '-o', 'json'];
    expect((await site.login.asRoot(doctor)).stdout.toString()).toContain('Run `scontrol ping`');
    await site.slurm.startController();
    const second = await open(ann);
    expect(second.job).toBe(live.job);
    await answers(second);
    await answers(live);
    await leavesNothing(ann);
  });

  it('names a time limit', async () => {
    await ended(late, 'has reached its time limit of 1:00');
    await leavesNothing(ben);
  });

  it('names a compute node that does not answer, and leaves nothing on either side', async () => {
    const { node, job, session } = unheard;
    const { login } = site;
    const words = `the compute node ${nodeName(unheard)} does not answer, and Slurm says that your job ${job} there runs`;
    // ssh notices after a minute, then Slurm is asked; the rest is for a busy machine.
    expect(await unheard.ended).toBeLessThan(90_000);
    expect(await session.outputAtEnd()).toContain(words);
    expect(session.client.exitCode).toBe(255);
    const began = performance.now();
    const { exitCode, stderr } = await login.ssh(mute, ['true']);
    // If the job has ended itself, which Slurm does not know, its keys are gone, and this login has another one.
    if (exitCode !== 0)
      expect([exitCode, stderr]).toEqual([255, expect.stringContaining(words) as unknown]);
    expect(performance.now() - began).toBeLessThan(40_000);
    expect(await processesOf(login, mute)).toEqual([]);
    await expect.poll(() => processesOf(node, mute), eventually).toEqual([]);
    // What the messages advise.
    expect(await login.ssh(mute, ['berth end --all'])).toMatchObject({ exitCode: 0 });
    const next = await open(mute);
    expect(next.node.name).not.toBe(node.name);
    await answers(next);
    await site.networkOf(node).speak();
    // slurmctld tells a node again and again that a job has ended, about once a minute.
    await expect.poll(() => left(mute), { ...eventually, timeout: 110_000 }).toEqual(nothing);
  });

  it('ends with the login node', async () => {
    const live = await open(ann);
    const { uid } = site.login.account(ann);
    // The sshd of the connection, which is root's, and all of the user.
    await asRoot('sh', '-c', `pkill -KILL -f '^sshd: ${ann}'; pkill -KILL -u ${uid} || true`);
    expect(await live.session.exitCode()).toBe(255);
    await leavesNothing(ann);
  });

  it(`leaves nothing of ${repetitions(24, 100)} clients that are cut between queue and session`, async () => {
    const bystander = await open(ann);
    const whole = performance.now();
    for (const one of await Promise.all([open(cut), open(cut)])) await answers(one);
    const startMs = performance.now() - whole;
    // While a session starts, and each fourth time when it has started.
    const turns = Array.from({ length: repetitions(24, 100) }, (_, turn) => turn);
    const cutAll = async (): Promise<void> => {
      for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
        const session = LiveSession.start(site.login, cut, ['echo in; cat']);
        if (turn % 4 === 3) await session.waitForOutput('in\n');
        else await sleep((turn / repetitions(24, 100)) * startMs);
        await session.kill();
      }
    };
    await Promise.all([cutAll(), cutAll()]);
    await leavesNothing(cut);
    await answers(bystander);
    await leavesNothing(ann);
  });
});
