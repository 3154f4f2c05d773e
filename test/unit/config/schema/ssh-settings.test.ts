import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  brokenProfile,
  parseProfile,
} from '../../../../src/config/schema/profile/profile-parse.ts';
import { profileSchema } from '../../../../src/config/schema/profile/profile-schema.ts';
import type { BrokenProfile, Profile } from '../../../../src/config/schema/profile/profile.ts';
import { parseSshSettings, sshSettings } from '../../../../src/config/schema/ssh-settings.ts';
import { parseYaml } from '../../../../src/config/schema/yaml-document.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';

const file = '/etc/berth/ssh.yml';
const read = (text: string): ReturnType<typeof parseSshSettings> =>
  parseSshSettings(parseYaml(text, file, 'core'), file);
const profile = (name: string, document: object = {}): Profile =>
  parseProfile({ image: 'a', ...document }, name, `/etc/berth/profiles/${name}.yml`);

const etc = new URL('../../../../etc/berth/', import.meta.url);
const shipped = readdirSync(new URL('profiles', etc)).map((name) => ({
  name: name.replace(/\.yml$/, ''),
  text: readFileSync(new URL(`profiles/${name}`, etc), 'utf8'),
}));

describe('ssh.yml', () => {
  it('may set nothing: then only --profile gives a session', () => {
    expect(read('# nothing yet\n')).toEqual({
      rules: [],
      otherwise: 'refuse',
      logFormat: 'logfmt',
      hostShellGroups: [],
      balancers: [],
      storage: '/var/lib/berth-ssh',
      selfService: 'berth',
      profilesDir: '/etc/berth/profiles',
      podman: {
        podman: '/usr/bin/podman',
        runtime: '/usr/bin/crun',
        nsenter: '/usr/bin/nsenter',
        init: '/usr/libexec/podman/catatonit',
        cgroupManager: 'systemd',
        mountProgram: '/usr/bin/fuse-overlayfs',
      },
    });
  });

  it('has rules in order, each with only the keys that it sets', () => {
    const { rules } = read(
      'rules: [{profile: a, users: [u]}, {profile: b, groups: [domain users], ports: [22]}]',
    );
    expect(rules).toEqual([
      { profile: 'a', users: ['u'] },
      { profile: 'b', groups: ['domain users'], ports: [22] },
    ]);
    expect(Object.isFrozen(rules[0])).toBe(true);
  });

  it('accepts null for the kernel’s overlayfs', () => {
    expect(read('podman: {mount_program: null}').podman).not.toHaveProperty('mountProgram');
  });

  it.each([
    ['rule: []', 'rule is unknown: did you mean rules?'],
    ['rules: [{profile: a, user: [x]}]', 'rules.1.user is unknown: did you mean users?'],
    ['rules: [{profile: a, users: []}]', 'rules.1.users must not be empty'],
    ['rules: [{users: [x]}]', 'rules.1.profile is missing'],
    ['rules: [{profile: A}]', 'rules.1.profile must be the name of a profile: a-z, 0-9 and -'],
    ['rules: [{profile: a, ports: [ssh]}]', 'rules.1.ports.1 must be a whole number'],
    ['rules: [{profile: a, ports: [65536]}]', 'rules.1.ports.1 must be a port'],
    ['otherwise: shell', 'otherwise must be one of refuse, host-shell'],
    ['otherwise: host-shell', 'otherwise: host-shell needs host_shell_groups'],
    ['storage: var', 'storage must be an absolute path'],
    ['storage: /', 'storage must not be /'],
    ['storage: /run/berth/x', 'storage must be a separate directory'],
    ['storage: /etc', 'storage must be a separate directory'],
    ['{storage: /srv/b, profiles_dir: /srv/b/profiles}', 'profiles_dir must not be in storage'],
    ['podman: {podman: podman}', 'podman.podman must be an absolute path'],
    ['podman: {cgroup_manager: none}', 'podman.cgroup_manager must be one of systemd, cgroupfs'],
  ])('is refused for %s', (text, message) => {
    let caught: unknown;
    try {
      read(text);
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({ code: 'ssh-yml-invalid', exit: 'config', fields: { file } });
    expect((caught as BerthError).message).toContain(message);
  });
});

describe('ssh.yml and the profiles together', () => {
  const options = read('{storage: /srv/berth, rules: [{profile: login}, {profile: logni}]}');

  it('report a profile that mounts the storage, and one that does not exist', () => {
    const settings = sshSettings(
      options,
      new Map<string, Profile | BrokenProfile>([
        ['login', profile('login', { mounts: [{ source: '/srv/data' }] })],
        ['inside', profile('inside', { mounts: [{ source: '/srv/berth/users/$UID' }] })],
        ['around', profile('around', { groups: ['g'], mounts: [{ source: '/srv' }] })],
        [
          'wrong',
          brokenProfile(new BerthError('profile-invalid', 'x', { exit: 'config', hint: 'x' })),
        ],
      ]),
      file,
    );
    expect([...settings.profiles.keys()]).toEqual(['login']);
    expect([...settings.broken].map(([name, { error }]) => [name, error.code])).toEqual([
      ['inside', 'profile-invalid'],
      ['around', 'profile-invalid'],
      ['wrong', 'profile-invalid'],
      ['logni', 'profile-missing'],
    ]);
    expect(settings.broken.get('around')).toMatchObject({
      groups: ['g'],
      error: { message: expect.stringContaining('exposes /srv/berth') as unknown },
    });
    expect(settings.broken.get('logni')?.error.hint).toBe('Did you mean login?');
    expect(settings).not.toHaveProperty('profilesDir');
  });
});

describe('the shipped examples', () => {
  const example = readFileSync(new URL('ssh.yml.example', etc), 'utf8');

  it.each(shipped)('$name is a profile', ({ name, text }) => {
    const path = `${name}.yml`;
    expect(parseProfile(parseYaml(text, path, 'core'), name, path).name).toBe(name);
  });

  it('are consistent: each profile that ssh.yml names exists', () => {
    const profiles = shipped.map(({ name, text }) => {
      return [name, parseProfile(parseYaml(text, name, 'core'), name, name)] as const;
    });
    const { broken } = sshSettings(read(example), new Map(profiles), file);
    expect([...broken.keys()]).toEqual([]);
  });

  it('show every key of a profile', () => {
    const shown = new Set(
      shipped.flatMap(({ name, text }) => paths(parseYaml(text, name, 'core'))),
    );
    const keys = paths(shapeOf(profileSchema));
    expect(keys.length).toBeGreaterThan(30);
    expect(keys.filter((key) => !shown.has(key))).toEqual([]);
  });

  it.each([
    ...[
      'rules',
      'profile',
      'users',
      'groups',
      'ports',
      'otherwise',
      'host_shell_groups',
      'storage',
    ],
    ...['profiles_dir', 'podman', 'runtime', 'nsenter', 'init', 'cgroup_manager', 'mount_program'],
  ])('have the key %s in ssh.yml', (key) => {
    expect(example).toMatch(new RegExp(`^ *(?:- )?${key}:`, 'm'));
  });

  it('show the defaults, except for keys marked as examples', () => {
    const { rules, balancers, balancerLog, hostShellGroups, registryAuth, ...rest } = read(example);
    expect(balancers).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(rules).not.toEqual([]);
    expect(hostShellGroups).toEqual(['wheel']);
    expect(balancerLog).toMatch(/^\/var\/log\//);
    expect(registryAuth).toMatch(/^\/etc\/berth\//);
    expect(read('{}')).toMatchObject(rest);
  });
});

/** `mounts.source`, `limits.cpus`: the keys of a document, without the indices of lists. */
function paths(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => paths(one, prefix));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [
    `${prefix}${key}`,
    ...paths(one, `${prefix}${key}.`),
  ]);
}

interface Definition {
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly innerType?: Schema;
  readonly element?: Schema;
}
interface Schema {
  readonly _zod: { readonly def: unknown };
}

/** A document with every key that the schema has. */
function shapeOf(schema: Schema): unknown {
  const def = schema._zod.def as Definition;
  const inner = def.innerType ?? def.element;
  if (inner !== undefined) return shapeOf(inner);
  if (def.shape === undefined) return null;
  return Object.fromEntries(
    Object.entries(def.shape).map(([key, one]) => [key, shapeOf(one)] as const),
  );
}
