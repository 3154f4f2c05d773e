import { afterAll, beforeAll, expect, it } from 'vitest';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { berthOn } from '../sessions/berth-on.ts';

let host: SshHost;
beforeAll(async () => {
  const profiles = { base: sharedProfile };
  host = await SshHost.start({ mode: 'forced', users: { ada: [], bob: [] }, profiles });
});
afterAll(() => host.stop());

it('berth node drain prints what stops new logins, and what accepts them again', async () => {
  const session = await LiveSession.startReady(host, 'ada', 'cat');
  const { code, err } = await berthOn(host, ['node', 'drain']);
  expect(code).toBe(69);
  const [close = '', open = ''] = [...err.matchAll(/`([^`]+)`/g)].map(([, command]) => command);

  await host.asRoot(['sh', '-c', close]);
  const refused = await host.ssh('bob', ['true']);
  expect(refused).toMatchObject({ exitCode: 255 });
  expect(refused.stderr).toContain('Closed for maintenance');
  session.client.stdin?.end('still here\n');
  expect(await session.outputAtEnd()).toContain('still here');

  await host.asRoot(['sh', '-c', open]);
  expect(await host.ssh('bob', ['true'])).toMatchObject({ exitCode: 0 });
});
