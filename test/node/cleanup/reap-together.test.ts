import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const names = ['ada', 'bob'];
/** Of each user; one of them stays. */
const sessionsEach = 3;

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    ...{ mode: 'forced', users: { ada: [], bob: [] } },
    profiles: { base: sharedProfile },
  });
});
afterAll(() => host.stop());

const uidOf = (name: string): number => host.account(name).uid;
const recordsOf = (name: string): Promise<string[]> =>
  readdir(host.path(`/run/berth/connections/${uidOf(name)}`));

/** Opens sessions, one of which ignores all signals that it can, and kills sshd of all but the first. @returns the IDs of their connections */
async function killMostOf(name: string): Promise<{ stays: LiveSession; killed: string[] }> {
  const stays = await LiveSession.startReady(host, name, 'cat');
  const [first] = await recordsOf(name);
  const stubborn = "trap '' HUP TERM INT; while :; do sleep 1; done";
  await LiveSession.startReady(host, name, stubborn);
  for (let count = 2; count < sessionsEach; count += 1)
    await LiveSession.startReady(host, name, 'sleep 1000');
  const killed = (await recordsOf(name)).filter((id) => id !== first);
  await host.asRoot(['kill', '-KILL', ...killed.map((id) => id.replace(/\..*/, ''))]);
  return { stays, killed };
}

it.each([
  ['at once', []],
  ['one after the other, after another process blocked', ['--alone']],
])('the sessions of several users whose sshd was killed end %s, and no other', async (_, extra) => {
  const users = await Promise.all(names.map((name) => killMostOf(name)));
  const uids = names.map(uidOf);
  const argv = [`${installDirectory}/berth`, 'reap', '--quiet', '--turns', uids.join(), ...extra];
  const { stdout, exitCode } = await host.asRoot(argv);
  expect(exitCode).toBe(0);
  const told = stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Told);
  const done = told.flatMap(({ at, uid }): unknown[] => [...(at ?? [{ uid }])]);
  const [ada, bob] = uids;
  const together = [ada, bob, ada, bob, ada, { uid: ada }, bob, { uid: bob }];
  expect(done).toEqual(extra.length === 0 ? together : [ada, { uid: ada }, bob, { uid: bob }]);
  for (const [index, { stays, killed }] of users.entries()) {
    const [name = '', uid = 0] = [names[index], uids[index]];
    const reaped = told.find((one) => one.uid === uid)?.reaped;
    expect(reaped).toMatchObject({ failed: [], sessionsOpen: 1, containersLeft: 1 });
    expect(reaped?.connections.map(({ id }) => id).sort()).toEqual(killed.toSorted());
    expect(await recordsOf(name)).toHaveLength(1);
    const { processes } = await findLeftovers(host, name);
    expect(processes.filter((one) => / sleep | cat$/.test(one))).toEqual([
      expect.stringMatching(/ cat$/),
    ]);
    stays.client.stdin?.write('still there\n');
    await stays.waitForOutput('still there');
    await stays.kill();
    await expect.poll(() => findLeftovers(host, name)).toEqual(noLeftovers);
  }
});

interface Told {
  readonly at?: readonly number[];
  readonly uid?: number;
  readonly reaped?: {
    readonly connections: readonly { readonly id: string }[];
    readonly failed: readonly unknown[];
  };
}
