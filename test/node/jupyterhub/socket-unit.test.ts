import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubUnitHost } from '../../rig/jupyterhub/hub-unit-host.ts';

const [ann, other, lab] = [61_021, 61_023, 61_025];
let host: HubUnitHost;

beforeAll(async () => {
  host = await HubUnitHost.boot({
    users: { 'hub-ann': ann, 'hub-other': other },
    groups: [`hub-lab:x:${lab}:hub-ann`],
    berth: 'defaults: { jupyterhub: { namespace: j, service_account: hub, groups: [hub-lab] } }\n',
  });
});
afterAll(() => host.stop());

describe('berth-hub.socket', () => {
  it('answers the hub in its sandbox', async () => {
    expect(await host.answer('{"user":"hub-ann"}')).toEqual({
      ...{ user: 'hub-ann', uid: ann, gid: ann, gids: [ann, lab], home: '/' },
      groups: expect.arrayContaining(['hub-lab']) as unknown,
      passwd: expect.stringMatching(`^hub-ann:\\*:${ann}:${ann}::/:/bin/sh\n`) as unknown,
      group: expect.stringContaining(`hub-lab:x:${lab}:\n`) as unknown,
    });
  });

  it.each([
    ['uid-below-minimum', '{"user":"root"}'],
    ['user-unknown', '{"user":"nobody-of-this-name"}'],
    ['user-name-invalid', '{"user":"../x"}'],
    ['cluster-unknown', '{"user":"hub-ann","cluster":"x"}'],
    ['hub-user-not-allowed', '{"user":"hub-other"}'],
    ['hub-request-invalid', '{"user":["hub-ann"]}'],
    ['hub-request-invalid', 'hello'],
    ['hub-request-invalid', JSON.stringify({ user: 'x'.repeat(100_000) })],
  ])('refuses with %s', async (code, line) => {
    expect(await host.answer(line)).toMatchObject({ error: { code } });
  });

  it('is closed to everybody else', async () => {
    expect(await host.answer('{"user":"hub-ann"}', other)).toBe('EACCES');
  });
});
