import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import type { ClientOptions, ClientResult } from '../../../src/companions/verify/run-client.ts';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';

const user = 'batch-ann';
const group = 'batch-project';
/** A text that bash would change in many ways. */
const odd = String.raw`a "b" 'c' $(id) ${'`id`'} $HOME \ !`;

let host: SshHost;
let script: string;

/** As Slurm starts a script: in the directory that the job was submitted from, with the user's environment. */
const job = (
  { args = [], lines, env = [] }: { args?: string[]; lines?: string; env?: string[] },
  options?: ClientOptions,
): Promise<ClientResult> => {
  const text =
    lines === undefined ? script : script.replace(/(?<=\n)# What the job runs[^]*$/, lines);
  const run = 'cd work; cat > job.sh; exec "$@"';
  const argv = ['sh', '-c', run, 'sh', 'env', ...env, 'bash', 'job.sh', ...args];
  return host.asUser(user, argv, { input: text, ...options });
};
const outputOf = async (wanted: Parameters<typeof job>[0]): Promise<string> => {
  const { exitCode, stdout, stderr } = await job(wanted);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout.toString();
};

beforeAll(async () => {
  host = await SshHost.start({
    mode: 'forced',
    users: { [user]: [group] },
    sshYml: { rules: [{ profile: 'plain' }] },
    profiles: {
      plain: standardProfile,
      base: {
        ...standardProfile,
        ...{ limits: { cpus: 1, memory: '512M', pids: 100 }, hostname: '$USER-job' },
        mounts: [
          { source: '$HOME' },
          { source: '/srv/absent-$USER', missing: 'skip' },
          { source: '/etc/hostname', target: '/srv/name of $UID', missing: 'skip' },
        ],
        environment: { set: { ODD: odd.replaceAll('$', '$$$$'), OF: '$USER' }, pass: ['MPL*'] },
      },
    },
  });
  const { exitCode, stdout, stderr } = await host.asRoot([
    ...[`${installDirectory}/berth`, 'render', 'sbatch', 'base'],
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  script = stdout.toString();
  await host.asUser(user, ['mkdir', 'work']);
});
afterAll(() => host.stop());

describe('the job script of a profile', () => {
  it("runs the last lines in the profile's image, as the user, with all groups", async () => {
    const { uid, gid } = host.account(user);
    const lines =
      'in_container sh -c "id -u; id -g; id -un; hostname; touch made"\nin_container pwd';
    expect(await outputOf({ lines })).toBe(
      `${uid}\n${gid}\n${user}\n${user}-job\n${host.account(user).home}/work\n`,
    );
    const made = await host.asUser(user, ['stat', '-c', '%U:%G', 'work/made']);
    expect(made.stdout.toString()).toBe(`${user}:${user}\n`);
    await host.asRoot(['install', '-d', '-m', '0070', '-g', group, '/srv/project']);
    const groups = 'in_container sh -c "id -G"';
    expect((await outputOf({ lines: groups })).trim().split(' ')).toHaveLength(2);
  });

  it('runs a command instead, with its arguments, input and exit code', async () => {
    const { exitCode, stdout } = await job({ args: ['sh', '-c', 'echo "$1"; exit 7', 'sh', odd] });
    expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 7, stdout: `${odd}\n` });
    const lines = 'in_container sh <<END\necho of the script\nEND';
    expect(await outputOf({ lines })).toBe('of the script\n');
  });

  it("has the profile's variables, Slurm's, and no others of the job", async () => {
    const env = [
      'SLURM_JOB_ID=12',
      'MPLBACKEND=agg',
      'SECRET=x',
      'LD_PRELOAD=',
      'CONTAINER_HOST=x',
    ];
    const shown = await outputOf({ args: ['env'], env });
    expect(`\n${shown}`).toContain(`\nODD=${odd}\n`);
    for (const line of [`OF=${user}`, 'BERTH_PROFILE=base', 'SLURM_JOB_ID=12', 'MPLBACKEND=agg'])
      expect(shown.split('\n')).toContain(line);
    expect(shown).not.toMatch(/^(SECRET|CONTAINER_HOST|XDG_RUNTIME_DIR)=/m);
  });

  it("shares no locks with the user's other containers: those go when a session ends", async () => {
    const locks = `/dev/shm/libpod_rootless_lock_${host.account(user).uid}`;
    await host.asRoot(['rm', '-f', locks]);
    expect(await outputOf({ args: ['echo', 'ran'] })).toBe('ran\n');
    expect(await host.asRoot(['test', '-e', locks])).toMatchObject({ exitCode: 1 });
  });

  it('is named in sessions, too', async () => {
    const { stdout } = await host.ssh(user, ['echo $BERTH_PROFILE']);
    expect(stdout.toString()).toBe('plain\n');
  });

  it('mounts what the node has, and leaves out what may be missing', async () => {
    const { uid } = host.account(user);
    const lines = `in_container sh -c 'cat "/srv/name of ${uid}"; ls /srv'`;
    expect(await outputOf({ lines })).toBe(`login1\nname of ${uid}\n`);
  });

  it("reads no configuration of the user's podman", async () => {
    const conf = '.config/containers/containers.conf';
    await host.asUser(user, ['sh', '-c', `mkdir -p .config/containers; echo '[broken' > ${conf}`]);
    expect(await outputOf({ args: ['echo', 'ran'] })).toBe('ran\n');
  });

  it.each(['TERM', 'INT'])('ends with SIG%s, and leaves no process and no file', async (signal) => {
    const lines = `in_container sh -c 'touch up; sleep 4321'`;
    const ended = job({ lines });
    await expect.poll(async () => (await host.asUser(user, ['rm', 'work/up'])).exitCode).toBe(0);
    // Slurm signals all processes of the job.
    await host.asRoot(['pkill', `-${signal}`, '-u', user]);
    expect((await ended).exitCode).not.toBe(0);
    expect(await processesOf(host, user)).toEqual([]);
    const files = ['find', '/tmp', '-maxdepth', '1', '-name', 'berth-job-*', '-user', user];
    expect((await host.asRoot(files)).stdout.toString()).toBe('');
  });
});
