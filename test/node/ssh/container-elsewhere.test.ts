import { afterAll, beforeAll, expect, it } from 'vitest';
import { standardProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';

let login1: SshHost;
let login2: SshHost;
beforeAll(async () => {
  const options = {
    mode: 'forced',
    profiles: { base: { ...standardProfile, lifetime: 'user', grace: '0s' } },
  } as const;
  login1 = await SshHost.start({ ...options, name: 'login1.example.org' });
  login2 = await SshHost.start({
    ...{ ...options, name: 'login2.example.org', address: '127.0.0.2', beside: login1 },
  });
});
afterAll(async () => {
  await login2.stop();
  await login1.stop();
});

/** What a user sees at an interactive login. */
async function seen(host: SshHost, user: string): Promise<string> {
  const session = LiveSession.start(host, user, ['-tt']);
  session.client.stdin?.write('echo re""ady\n');
  await session.waitForOutput('ready');
  session.client.stdin?.write('exit\n');
  await session.exitCode();
  return session.output;
}
const notes = async (host: SshHost, user: string): Promise<string[]> =>
  (await host.asUser(user, ['ls', '.local/state/berth/containers'])).stdout
    .toString()
    .split('\n')
    .filter((line) => line !== '');
/** Waits until ada's home has these notes only. */
async function untilNotes(wanted: readonly string[]): Promise<void> {
  const waiting = { what: `the notes ${wanted.join()}`, timeoutMs: 60_000, everyMs: 200 };
  await waitFor(waiting, async () =>
    (await notes(login1, 'ada')).join() === wanted.join() ? true : undefined,
  );
}
const line =
  /^you also have a container \(profile base\) on (\S+), since \d{4}-\d\d-\d\d \d\d:\d\d; to get there: ssh -p \d+ \1\r$/m;

it('a user is told at an interactive login on which other node a container runs, until it ends', async () => {
  expect(await seen(login2, 'ada')).not.toMatch(line);
  const working = await LiveSession.startReady(login1, 'ada', 'cat');

  expect(line.exec(await seen(login2, 'ada'))?.[1]).toBe('login1.example.org');
  // The session of this test on login2 has ended, and its container too after a while.
  await untilNotes(['login1.example.org.base.json']);
  // Other nodes' containers only, and nobody else's.
  expect(await seen(login1, 'ada')).not.toMatch(line);
  expect(await seen(login2, 'bob')).not.toMatch(line);

  // Programs read what a command, scp or sftp prints.
  const command = await login2.ssh('ada', ['echo done']);
  expect([command.stdout.toString(), command.stderr]).toEqual(['done\n', '']);
  const terminal = await login2.ssh('ada', ['-tt', 'echo done']);
  expect(terminal.stdout.toString()).toBe('done\r\n');

  await working.kill();
  await untilNotes([]);
  expect(await seen(login2, 'ada')).not.toMatch(line);
});

it('a node that lost its power is not named after it is back, or after a week', async () => {
  const lost = await LiveSession.startReady(login2, 'bob', 'cat');
  await login2.kill();
  await lost.kill();
  expect(await seen(login1, 'bob')).toMatch(line);

  const note = '.local/state/berth/containers/login2.example.org.base.json';
  await login1.asUser('bob', ['touch', '-d', '8 days ago', note]);
  expect(await seen(login1, 'bob')).not.toMatch(line);

  await login1.asUser('bob', ['touch', note]);
  await login2.boot();
  const reaped = await login2.asRoot([`${installDirectory}/berth`, 'reap']);
  expect(reaped.exitCode, reaped.stderr).toBe(0);
  expect(await seen(login1, 'bob')).not.toMatch(line);
});

it('what a user writes in place of the notes harms only the message', async () => {
  const working = await LiveSession.startReady(login1, 'ada', 'cat');
  const script = [
    'cd .local/state/berth/containers && mkfifo fifo && ln -s /etc/passwd link && mkdir dir',
    'head -c 2000 /dev/zero >long; echo "{\\"host\\":\\"\\\\u001b[2Jx\\",\\"profile\\":\\"base\\",\\"since\\":1}" >escape',
  ].join('; ');
  expect((await login1.asUser('ada', ['sh', '-c', script])).exitCode).toBe(0);

  const output = await seen(login2, 'ada');

  expect(output).toMatch(line);
  expect(output).not.toContain('\u001b[2J');
  await working.kill();
});
