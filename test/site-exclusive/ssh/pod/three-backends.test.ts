import { afterAll, beforeAll, expect, it } from 'vitest';
import { berthOn, listed } from '../../../node/sessions/berth-on.ts';
import { berthDocument } from '../../../rig/berth-document.ts';
import { testImageStore } from '../../../rig/login-node/image-store.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';
import { ensurePackages } from '../../../rig/site/debian-packages.ts';
import { openSite } from '../../../rig/site/site.ts';
import { SlurmCluster, slurmPackages } from '../../../rig/slurm/slurm-cluster.ts';

const user = 'three-ann';
const other = 'three-ben';

let login: PodHost;
let slurm: SlurmCluster;
beforeAll(async () => {
  await ensurePackages(slurmPackages);
  const site = await openSite();
  const { store, site: image } = await testImageStore();
  const here = {
    ...{ backend: 'podman', image, pull: 'never', network: 'host', lifetime: 'connection' },
    mounts: [{ source: '$HOME' }],
  };
  login = await startPodHost(site, {
    ...{ mode: 'forced', users: { [user]: [], [other]: ['three-staff'] }, images: store },
    sshd: 'AcceptEnv BERTH_PROFILE',
    sshYml: {
      rules: [
        { profile: 'desk' },
        { profile: 'base', on_request: true },
        { profile: 'alloc', on_request: true },
        { profile: 'staff', on_request: true },
      ],
    },
    profiles: {
      desk: here,
      staff: { ...here, groups: ['three-staff'] },
      alloc: { ...here, backend: 'slurm', limits: { cpus: 1, memory: '500M' } },
    },
  });
  slurm = await SlurmCluster.start(login.host);
}, 900_000);
afterAll(async () => {
  await login.stop();
  await (slurm as SlurmCluster | undefined)?.stop();
});

/** A session that the client asks for, or the usual one. */
async function session(profile?: string, as = user): Promise<LiveSession> {
  const asking = profile === undefined ? [] : ['-o', `SetEnv=BERTH_PROFILE=${profile}`];
  const live = LiveSession.start(login.host, as, [...asking, '-tt', 'echo ready; sleep 9000']);
  await live.waitForOutput('ready');
  return live;
}

/** `user profile backend name`, without the connection's ID. */
async function shown(...args: string[]): Promise<readonly string[]> {
  const all = await listed(login.host, ...args);
  return all
    .map(({ id, user, profile, backend, name }) =>
      [user, profile, backend, name?.replace(id, 'ID').replace(id.replace('.', '-'), 'ID')].join(
        ' ',
      ),
    )
    .toSorted();
}

interface Status {
  readonly sessions: readonly {
    readonly profile: string;
    readonly backend: string;
    readonly sessions: number;
  }[];
}

it('sessions of three profiles on three backends at once are shown, counted and ended as what they are', async () => {
  const desk = await session();
  const base = await session('base');
  const alloc = await session('alloc');
  const staff = await session('staff', other);
  const [onDesk, onBase, onAlloc, onStaff] = [
    `${user} desk podman berth-desk-ID`,
    `${user} base pod berth-base-login1-ID`,
    `${user} alloc slurm berth-alloc-ID`,
    `${other} staff podman berth-staff-ID`,
  ];
  expect(await shown()).toEqual([onAlloc, onBase, onDesk, onStaff]);
  expect(await shown('--profile', 'desk')).toEqual([onDesk]);
  expect(await shown('--profile', 'base')).toEqual([onBase]);
  expect(await shown('--profile', 'alloc', 'staff')).toEqual([onAlloc, onStaff]);
  const { out } = await berthOn(login.host, ['sessions', 'list', '--no-headers']);
  expect(out).toMatch(new RegExp(`^\\d+\\.\\d+ +${user} +alloc +job +berth-alloc-`, 'm'));
  const status = await berthOn(login.host, ['status', '-o', 'json']);
  expect(
    (berthDocument(status.out) as Status).sessions.map(({ profile, backend, sessions }) =>
      [profile, backend, sessions].join(' '),
    ),
  ).toEqual(['alloc slurm 1', 'base pod 1', 'desk podman 1', 'staff podman 1']);

  // With a shell on the host, a user can write what the logins write: it counts only for what is offered to the user.
  const { uid } = login.host.account(user);
  const lie = `for one in /run/user/${uid}/berth/profiles.*; do echo '{"profile":"staff","backend":"podman"}' >"$one"; done`;
  await login.host.asUser(user, ['sh', '-c', lie]);
  expect(await shown('--profile', 'staff')).toEqual([onStaff]);
  const truth = `cd /run/user/${uid}/berth; for one in profiles.*; do rm "$one"; mkfifo "$one"; done`;
  await login.host.asUser(user, ['sh', '-c', truth]);
  expect(await shown('--profile', 'staff')).toEqual([onStaff]);

  const end = (...args: string[]) => berthOn(login.host, ['sessions', 'end', '--all', ...args]);
  expect(await end('--profile', 'staff')).toMatchObject({ code: 0, err: '' });
  expect(await staff.exitCode()).toBe(255);
  await desk.kill();
  await base.kill();
  await alloc.kill();
}, 300_000);

it('end --profile ends the sessions of that profile, and no others', async () => {
  await expect.poll(() => shown(), { timeout: 60_000 }).toEqual([]);
  const [desk, base, alloc] = await Promise.all([session(), session('base'), session('alloc')]);
  const end = (profile: string) =>
    berthOn(login.host, ['sessions', 'end', '--all', '--profile', profile]);
  expect(await end('desk')).toMatchObject({ code: 0, err: '' });
  expect(await desk.exitCode()).toBe(255);
  expect((await shown()).map((one) => one.split(' ')[1])).toEqual(['alloc', 'base']);
  expect(await end('alloc')).toMatchObject({ code: 0, err: '' });
  expect(await alloc.exitCode()).toBe(255);
  expect((await shown()).map((one) => one.split(' ')[1])).toEqual(['base']);
  expect(await end('base')).toMatchObject({ code: 0, err: '' });
  expect(await base.exitCode()).toBe(255);
  expect(await shown()).toEqual([]);
}, 300_000);
