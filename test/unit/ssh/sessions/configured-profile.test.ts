import { expect, it } from 'vitest';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { withGiven } from '../../../../src/ssh/sessions/configured-profile.ts';
import { filterAll } from '../../../../src/ssh/sessions/find-sessions.ts';
import type { Session } from '../../../../src/ssh/sessions/list-sessions.ts';

const profile = parseProfile({ image: 'a', lifetime: 'connection' }, 'base', 'base.yml');

/** A session whose processes say that they are in this container. */
const session = (claimedName: string | undefined): Session => ({
  ...{ id: '47.11', user: 'ada', uid: 1000, opened: 1, idleSeconds: undefined, from: '192.0.2.7' },
  ...{ profile: undefined, backend: undefined, name: undefined, claimedName },
  ...{ via: undefined, peer: undefined, local: undefined, unit: undefined, terminals: [] },
  ...{ processes: 1, cpuSeconds: 0, memoryBytes: 0 },
});

it('a session in the container of its profile has its name', async () => {
  expect(await withGiven(session('berth-base-47.11'), { profile })).toMatchObject({
    ...{ profile: 'base', backend: 'podman', name: 'berth-base-47.11', claimedName: undefined },
  });
  expect(await withGiven(session(undefined), { profile })).toMatchObject({
    ...{ profile: 'base', name: undefined, claimedName: undefined },
  });
});

it.each(['berth-admin', 'berth-base', 'berth-base-47.12', 'berth-admin-47.11'])(
  'a session whose processes say %s has the profile of the configuration all the same',
  async (claimed) => {
    const one = await withGiven(session(claimed), { profile });
    expect(one).toMatchObject({ profile: 'base', name: undefined, claimedName: claimed });
    const filter = { profiles: ['admin'] };
    expect(filterAll({ sessions: [one], pods: [] }, filter).sessions).toEqual([]);
  },
);

it('a session on the host, or whose configuration is not known, has no profile', async () => {
  expect(await withGiven(session('berth-admin'), 'host')).toMatchObject({
    ...{ profile: undefined, backend: 'host', name: undefined, claimedName: 'berth-admin' },
  });
  expect((await withGiven(session('berth-admin'), 'unknown')).profile).toBeUndefined();
});
