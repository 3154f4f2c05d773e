import { describe, expect, it } from 'vitest';
import type { SshSettings } from '../../../../src/config/schema/profile/profile.ts';
import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import { parseSshSettings, sshSettings } from '../../../../src/config/schema/ssh-settings.ts';
import { filterAll } from '../../../../src/login/sessions/find-sessions.ts';
import type { Session } from '../../../../src/login/sessions/list-sessions.ts';
import { givenProfiles, withGiven } from '../../../../src/login/sessions/session-profile.ts';

const profile = parseProfile({ image: 'a', lifetime: 'connection' }, 'base', 'base.yml');

/** A session whose processes say that they are in this container. */
const session = (claimedName: string | undefined): Session => ({
  ...{ id: '47.11', user: 'ada', uid: 1000, opened: 1, idleSeconds: undefined, from: '192.0.2.7' },
  ...{ profile: undefined, profiles: [], backend: undefined, name: undefined, claimedName },
  ...{ via: undefined, peer: undefined, local: undefined, unit: undefined, terminals: [] },
  ...{ withoutTerminal: [], processes: 1, cpuSeconds: 0, memoryBytes: 0 },
});

it('a session in the container of its profile has its name', async () => {
  expect(await withGiven(session('berth-base-47.11'), [profile])).toMatchObject({
    ...{ profile: 'base', backend: 'podman', name: 'berth-base-47.11', claimedName: undefined },
  });
  expect(await withGiven(session(undefined), [profile])).toMatchObject({
    ...{ profile: 'base', name: undefined, claimedName: undefined },
  });
});

it.each(['berth-admin', 'berth-base', 'berth-base-47.12', 'berth-admin-47.11'])(
  'a session whose processes say %s has its profile all the same',
  async (claimed) => {
    const one = await withGiven(session(claimed), [profile]);
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

it('a connection with sessions of two profiles is selected by both', async () => {
  const remote = parseProfile({ backend: 'pod', image: 'a' }, 'remote', 'remote.yml');
  const one = await withGiven(session(undefined), [remote, profile]);
  expect(one).toMatchObject({ profile: 'remote', profiles: ['remote', 'base'], backend: 'pod' });
  for (const profiles of [['base'], ['remote']])
    expect(filterAll({ sessions: [one], pods: [] }, { profiles }).sessions).toEqual([one]);
});

describe('what a connection’s logins noted', () => {
  const rules = [
    { profile: 'base', backend: 'slurm', on_request: true },
    { profile: 'base' },
    { profile: 'remote', on_request: true },
    { profile: 'admin', groups: ['staff'] },
  ];
  const profiles = new Map(
    ['base', 'remote', 'admin', 'unused'].map((name) => [
      name,
      parseProfile({ image: 'a', lifetime: 'connection' }, name, `${name}.yml`),
    ]),
  );
  const settings: SshSettings = sshSettings(
    parseSshSettings({ rules }, 'ssh.yml'),
    profiles,
    'ssh.yml',
  );
  const asked = { user: 'ada', groups: [], port: 22 };
  const named = (given: ReturnType<typeof givenProfiles>) =>
    typeof given === 'string' ? given : given.map(({ name, backend }) => `${name} ${backend}`);
  const note = (profile: string, backend: 'podman' | 'pod' | 'slurm' = 'podman') => ({
    ...{ profile, backend },
  });

  it.each([
    ['nothing', [], ['base podman']],
    ['another profile', [note('remote')], ['remote podman']],
    ['the usual profile on another backend', [note('base', 'slurm')], ['base slurm']],
    ['two, the newest first', [note('base'), note('remote')], ['remote podman', 'base podman']],
    ['a profile for others', [note('admin')], ['base podman']],
    ['a profile of no rule', [note('unused')], ['base podman']],
    ['a profile that does not exist', [note('none')], ['base podman']],
  ])('%s', (_, noted, expected) => {
    expect(named(givenProfiles(settings, asked, noted))).toEqual(expected);
  });

  it('does not count where sshd says which profile it is', () => {
    const forced = { ...asked, wanted: 'unused' };
    expect(named(givenProfiles(settings, forced, [note('remote')]))).toEqual(['unused podman']);
  });
});
