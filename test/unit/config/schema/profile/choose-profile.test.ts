import { describe, expect, it } from 'vitest';
import {
  chooseProfile,
  offeredProfiles,
  type ProfileRequest,
} from '../../../../../src/config/schema/profile/choose-profile.ts';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import type {
  BrokenProfile,
  Profile,
  SshSettings,
} from '../../../../../src/config/schema/profile/profile.ts';
import { parseSshSettings, sshSettings } from '../../../../../src/config/schema/ssh-settings.ts';
import { BerthError } from '../../../../../src/system/errors/berth-error.ts';

const fault = new BerthError('profile-invalid', 'broken', { exit: 'config', hint: 'Mend.' });
const broken = (groups?: string[]): BrokenProfile => ({
  error: fault,
  ...(groups === undefined ? {} : { groups }),
});

function site(
  document: object,
  profiles: Record<string, { groups?: string[] } | BrokenProfile>,
): SshSettings {
  const read = Object.entries(profiles).map(([name, one]): [string, Profile | BrokenProfile] => {
    if ('error' in one) return [name, one];
    return [name, parseProfile({ image: 'a', ...one }, name, `${name}.yml`)];
  });
  return sshSettings(parseSshSettings(document, 'ssh.yml'), new Map(read), 'ssh.yml');
}

const eve: ProfileRequest = { user: 'eve', groups: ['users', 'gpu'], port: 22 };

/** `profile NAME`, or the kind with its code. */
function choice(settings: SshSettings, request: Partial<ProfileRequest> = {}): string {
  const chosen = chooseProfile(settings, { ...eve, ...request });
  switch (chosen.kind) {
    case 'profile':
      return `profile ${chosen.profile.name}`;
    case 'refuse':
      return `refuse ${chosen.code}`;
    case 'host-shell':
      return 'host-shell';
  }
}

describe('which profile a user gets', () => {
  const rules = [
    { profile: 'named', users: ['alice', 'bob'] },
    { profile: 'both', groups: ['gpu'], ports: [2222] },
    { profile: 'grouped', groups: ['staff', 'gpu'] },
    { profile: 'all' },
    { profile: 'never' },
  ];
  const settings = site({ rules }, { named: {}, both: {}, grouped: {}, all: {}, never: {} });

  it.each([
    [{ user: 'bob' }, 'profile named'],
    [{ port: 2222 }, 'profile both'],
    [{ port: undefined }, 'profile grouped'],
    [{ port: 2222, groups: ['users'] }, 'profile all'],
    [{}, 'profile grouped'],
    [{ groups: [] }, 'profile all'],
    [{ user: 'Alice', groups: [] }, 'profile all'],
  ])('for %j it is %s: the first rule of which every part fits', (request, expected) => {
    expect(choice(settings, request)).toBe(expected);
  });

  it('says why', () => {
    expect(chooseProfile(settings, { ...eve, port: 2222 }).reason).toBe(
      'rule 2 (group gpu, port 2222) gives both',
    );
    expect(chooseProfile(settings, { ...eve, groups: [] }).reason).toBe(
      'rule 4 (everybody) gives all',
    );
  });

  it('passes over the rule whose profile is for others', () => {
    const own = { rules: [{ profile: 'staff' }, { profile: 'all' }] };
    const both = site(own, { staff: { groups: ['staff'] }, all: {} });
    expect(choice(both)).toBe('profile all');
    expect(choice(both, { groups: ['staff'] })).toBe('profile staff');
  });
});

describe('--profile', () => {
  const settings = site(
    { rules: [{ profile: 'all', groups: ['users'] }] },
    { all: {}, gpu: { groups: ['gpu'] }, staff: { groups: ['staff'] } },
  );

  it('goes before the rules', () => {
    expect(choice(settings, { wanted: 'gpu' })).toBe('profile gpu');
  });

  it('leaves those to the rules who are not in the profile’s groups', () => {
    expect(choice(settings, { wanted: 'staff' })).toBe('profile all');
    expect(choice(settings, { wanted: 'staff', groups: [] })).toBe('refuse profile-not-matched');
    expect(chooseProfile(settings, { ...eve, wanted: 'staff', groups: [] }).reason).toBe(
      'not in the groups of staff, and no rule matches: rule 1 is for group users',
    );
  });

  it('is no way to any other profile when nobody wrote it', () => {
    expect(choice(settings, { wanted: 'gpus' })).toBe('refuse profile-missing');
    expect(choice(settings, { wanted: '__proto__' })).toBe('refuse profile-missing');
  });
});

describe('whom no rule matches', () => {
  it('is refused', () => {
    expect(choice(site({}, {}))).toBe('refuse profile-not-matched');
    expect(choice(site({ host_shell_groups: ['gpu'] }, {}))).toBe('refuse profile-not-matched');
  });

  it('is told for whom the rules are, of the first five', () => {
    const rules = [
      { profile: 'all', groups: ['users', 'staff'], ports: [2222] },
      { profile: 'gpu', users: ['ada'] },
      ...Array.from({ length: 5 }, () => ({ profile: 'all', groups: ['none'] })),
    ];
    const settings = site({ rules }, { all: {}, gpu: { groups: ['gpus'] } });
    expect(chooseProfile(settings, { ...eve, groups: [] }).reason).toBe(
      'no rule matches: rule 1 is for group users or staff and port 2222, ' +
        'rule 2 is for user ada and group (of profile gpu) gpus, rule 3 is for group none, ' +
        'rule 4 is for group none, rule 5 is for group none, and 2 more',
    );
    expect(chooseProfile(site({}, {}), eve).reason).toBe('ssh.yml has no rules');
  });

  it('gets the host’s shell where the site says so, and the group is named', () => {
    const settings = site({ otherwise: 'host-shell', host_shell_groups: ['wheel'] }, {});
    expect(choice(settings)).toBe('refuse profile-not-matched');
    expect(choice(settings, { groups: ['wheel'] })).toBe('host-shell');
  });
});

describe('a broken profile', () => {
  const rules = [{ profile: 'gpu', groups: ['gpu'] }, { profile: 'all' }];

  it('costs its own users the session; they do not get the next rule’s', () => {
    const settings = site({ rules }, { gpu: broken(), all: {} });
    expect(choice(settings)).toBe('refuse profile-invalid');
    expect(chooseProfile(settings, eve)).toMatchObject({ error: fault });
    expect(choice(settings, { groups: ['users'] })).toBe('profile all');
    expect(choice(settings, { wanted: 'gpu', groups: [] })).toBe('refuse profile-invalid');
  });

  it('costs nobody anything who is not in its groups', () => {
    const open = [{ profile: 'gpu' }, { profile: 'all' }];
    const settings = site({ rules: open }, { gpu: broken(['gpu']), all: {} });
    expect(choice(settings, { groups: ['users'] })).toBe('profile all');
    expect(choice(settings)).toBe('refuse profile-invalid');
  });

  it('is mended by members of host_shell_groups', () => {
    const settings = site({ rules, host_shell_groups: ['wheel'] }, { gpu: broken(), all: {} });
    expect(choice(settings, { groups: ['gpu', 'wheel'] })).toBe('host-shell');
    expect(choice(settings)).toBe('refuse profile-invalid');
  });

  it('may be one that a rule names and nobody wrote', () => {
    const settings = site({ rules: [{ profile: 'al' }] }, { all: {} });
    expect(choice(settings)).toBe('refuse profile-missing');
    expect(chooseProfile(settings, eve).reason).toMatch(/, but that profile does not exist$/);
  });
});

describe('a profile that the client asks for', () => {
  const settings = site(
    {
      rules: [
        { profile: 'gpu', on_request: true, groups: ['gpu'] },
        { profile: 'secret', on_request: true, groups: ['staff'] },
        { profile: 'base' },
      ],
    },
    { base: {}, gpu: {}, secret: {}, unruled: {} },
  );

  it('is given if a rule gives it', () => {
    expect(choice(settings, { requested: 'gpu' })).toBe('profile gpu');
    expect(choice(settings, { requested: 'base' })).toBe('profile base');
  });

  it('is no one else’s', () => expect(choice(settings)).toBe('profile base'));

  it.each(['secret', 'unruled', 'absent', '../gpu', 'gpu\n', ''])('is not %j', (requested) => {
    expect(chooseProfile(settings, { ...eve, requested })).toEqual({
      ...{ kind: 'refuse', code: 'profile-not-offered' },
      reason: `the client asks for the profile ${JSON.stringify(requested)}; it can ask for gpu, base`,
    });
  });

  it('does not replace that of --profile', () => {
    expect(choice(settings, { requested: 'gpu', wanted: 'unruled' })).toBe('profile unruled');
  });

  it('is one of those that are offered, each once', () => {
    const offered = (more: object = {}): string[] =>
      offeredProfiles(settings, { ...eve, ...more }).map(({ name }) => name);
    expect(offered()).toEqual(['gpu', 'base']);
    expect(offered({ groups: [] })).toEqual(['base']);
    expect(offered({ wanted: 'unruled' })).toEqual(['unruled']);
  });
});
