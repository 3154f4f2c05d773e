import { describe, expect, it } from 'vitest';
import {
  brokenProfile,
  parseProfile,
} from '../../../../../src/config/schema/profile/profile-parse.ts';
import type { Profile } from '../../../../../src/config/schema/profile/profile.ts';
import { parseYaml, readYaml } from '../../../../../src/config/schema/yaml-document.ts';
import { BerthError } from '../../../../../src/system/errors/berth-error.ts';
import { refusal } from '../refusal.ts';

const file = '/etc/berth/profiles/p.yml';
const read = (text: string): Profile => parseProfile(parseYaml(text, file, 'core'), 'p', file);
const profile = (more: string): Profile => read(`image: hpc/login:9\n${more}`);

describe('a profile', () => {
  it('needs an image only: the home in a container per connection, as the user’s login was', () => {
    expect(profile('')).toEqual({
      name: 'p',
      backend: 'podman',
      image: 'hpc/login:9',
      pull: 'never',
      lifetime: { kind: 'connection' },
      timeouts: {},
      mounts: [{ source: '$HOME', readOnly: false, missing: 'fail' }],
      network: 'host',
      environment: { pass: [], set: {} },
      limits: {},
      x11: true,
      agent: true,
      notices: true,
      selfService: true,
      failure: { action: 'refuse', groups: [] },
      deadlineMs: 30_000,
      podman: { devices: [], capabilities: { add: [], drop: [] } },
      pod: {
        nodeSelector: {},
        tolerations: [],
        extended: {},
        volumes: {},
        forwards: true,
        supplementalGroupsPolicy: 'Strict',
      },
      batch: {},
    });
  });

  it('cannot be changed by who reads it', () => {
    const { mounts, environment } = profile('environment: {set: {A: b}}');
    expect(Object.isFrozen(mounts[0])).toBe(true);
    expect(Object.isFrozen(environment.set)).toBe(true);
  });

  it.each([
    ['512M', 512 * 1024 ** 2],
    ['8G', 8 * 1024 ** 3],
    ['8GiB', 8 * 1024 ** 3],
    ['8GB', 8 * 1024 ** 3],
    ['1T', 1024 ** 4],
  ])('reads %s as podman does, in powers of 1024', (text, bytes) => {
    expect(profile(`limits: {memory: ${text}}`).limits).toEqual({ memory: bytes });
  });

  it('completes what Slurm needs, and leaves X11 out where sshd’s listener cannot be reached', () => {
    expect(profile('slurm: {}').slurm).toEqual({ config: '/etc/slurm', munge: '/run/munge' });
    expect(profile('slurm: {munge: /run/m}').slurm?.munge).toBe('/run/m');
    expect(profile('network: private').x11).toBe(false);
    expect(profile('network: private').slurm).toBeUndefined();
  });

  it('has mounts as they are written, without the slash at their end', () => {
    const text = 'mounts: [{source: /data/, target: $HOME/data/, read_only: true, missing: skip}]';
    expect(profile(text).mounts).toEqual([
      { source: '/data', target: '$HOME/data', readOnly: true, missing: 'skip' },
    ]);
    expect(profile('mounts: []').mounts).toEqual([]);
  });

  it('takes capabilities with and without CAP_', () => {
    const text = 'podman: {capabilities: {add: [cap_sys_ptrace], drop: [NET_RAW]}}';
    expect(profile(text).podman.capabilities).toEqual({ add: ['SYS_PTRACE'], drop: ['NET_RAW'] });
  });
});

const digest = 'a'.repeat(64);

describe('an image', () => {
  it.each([
    'login',
    'localhost/login:9',
    'registry.example.com:5000/hpc/login_tools/x86-64:2026.1-rc_2',
    `hpc/login@sha256:${digest}`,
    `hpc/login:9@sha256:${digest}`,
  ])('may be %s', (image) => {
    expect(parseProfile({ image }, 'p', file).image).toBe(image);
  });

  it.each([
    ['', 'must be an image'],
    ['-v', 'must be an image'],
    ['--privileged', 'must be an image'],
    ['hpc/Login', 'must be an image'],
    ['dir:/home/eve/image', 'must be an image'],
    ['docker-archive:/tmp/a.tar', 'must be an image'],
    ['hpc/login:9\n', 'must be an image'],
    ['hpc/../login', 'must be an image'],
    [`login@sha256:${digest}@sha256:${digest}`, 'must be an image'],
    ['login@sha256:abc', 'has a malformed digest'],
    [`login@sha256:${digest.toUpperCase()}`, 'has a malformed digest'],
    [`login@md5:${digest}`, 'has a malformed digest'],
    ['login@', 'has a malformed digest'],
  ])('is not %j', (image, message) => {
    const error = refusal(() => parseProfile({ image }, 'p', file));
    expect(error).toMatchObject({ code: 'profile-invalid', exit: 'config' });
    expect(error.message).toContain(`image ${message}`);
  });
});

describe('a profile is refused, with what to do,', () => {
  it.each([
    ['image: a\nlimits:\n  cpus: all\n', '3:9: limits.cpus must be a number of CPUs'],
    ['image: a\nlimits:\n  cpu: 4\n', '3:3: limits.cpu is unknown: did you mean cpus?'],
    ['image: a\nmounts:\n  - source: $HOME\n  - source: $HME\n', '4:13: mounts.2.source '],
    ['# no image\npull: never\n', '2:1: image is missing'],
    ['image: a\nlinger: true\n', '2:9: linger needs lifetime: user'],
    ['image: a\nmounts:\n  - source: /a\n  - source: /a\n', '4:5: mounts.2 has the same target'],
    ['image: a\nenvironment:\n  set:\n    A-B: x\n', '4:10: environment.set."A-B" is no'],
    ['image: a\nnetwork: none\nx11: true\n', '3:6: x11 needs network: host'],
    ['image: a\non_failure:\n  action: fallback\n', '3:11: on_failure.action fallback needs'],
  ])('at the place of the mistake: %j', (text, message) => {
    const { value, place } = readYaml(text, file, 'core');
    const error = refusal(() => parseProfile(value, 'p', file, place));
    expect(error.message).toContain(`${file}:${message}`);
    const [line, column] = message.split(':').map(Number);
    expect(error.fields).toEqual({ file, profile: 'p', line, column });
  });

  it.each([
    ['imag: x', 'imag is unknown: did you mean image?'],
    [
      'mounts: [{source: /a, readonly: true}]',
      'mounts.1.readonly is unknown: did you mean read_only?',
    ],
    ['limits: {memroy: 8G}', 'limits.memroy is unknown: did you mean memory?'],
    ['podman: {capabilities: {ad: []}}', 'podman.capabilities.ad is unknown: did you mean add?'],
    [
      'on_failure: {action: panic}',
      'on_failure.action must be one of refuse, fallback, host-shell',
    ],
    ['pull: newer', 'pull must be one of never, missing, always'],
    ['lifetime: session', 'lifetime must be connection, user, or a time such as 8h'],
    ['deadline: 10', 'deadline must be a time such as 500ms, 10s or 5m'],
    ['deadline: 2h', 'deadline must be a time from 100ms to 1h'],
    ['lifetime: user\ngrace: 999h', 'grace must be a time from 0s to 720h'],
    ['lifetime: 9000h', 'lifetime must be a time from 1ms to 8760h'],
    ['lifetime: 8', 'lifetime must be connection, user, or a time such as 8h, 8760h at most'],
    ['limits: {memory: 9999999T}', 'limits.memory must be 1024T or less'],
    ['limits: {pids: 99999999}', 'limits.pids must be 4194304 or less'],
    ['pod: {extended: {nvidia.com/gpu: 9999999}}', 'must be 1000000 or less'],
    ['pod: {tolerations: [{seconds: 99999999}]}', 'must be 31536000 (a year) or less'],
    ['limits: {memory: 8}', 'limits.memory must be a size such as 512M or 8G'],
    ['limits: {memory: 8GG}', 'limits.memory must be a size such as 512M or 8G'],
    ['limits: {memory: 0G}', 'limits.memory must be a size'],
    ['limits: {cpus: "4"}', 'limits.cpus must be a number of CPUs'],
    ['limits: {cpus: 0}', 'limits.cpus must be a number of CPUs'],
    ['limits: {pids: 0}', 'limits.pids must be 1 or more'],
    ['limits: {pids: 1.5}', 'limits.pids must be a whole number'],
    ['network: container:other', 'network must be host, none, private, or'],
    ['network: -x', 'network must be host'],
    ['shell: bash', 'shell must be an absolute path'],
    ['groups: []', 'groups must not be empty'],
    ['groups: [-x]', 'groups.1 must be a name'],
    [
      'environment: {pass: ["*"]}',
      'environment.pass.1 must be a variable name, or a prefix with `*`',
    ],
    ['environment: {pass: [A=b]}', 'environment.pass.1 must be a variable name'],
    ['environment: {set: {A-B: x}}', 'environment.set."A-B" is not a valid variable name'],
    ['environment: {set: {A: 4}}', 'environment.set.A must be a string'],
    ['environment: {set: {BERTH_CONNECTION: x}}', 'names that begin with BERTH_ are reserved'],
    ['environment: {pass: [BERTH_*]}', 'names that begin with BERTH_ are reserved'],
    ['podman: {devices: [/etc/shadow]}', 'podman.devices.1 must be a path below /dev'],
    ['podman: {devices: [/dev/../etc/shadow]}', 'podman.devices.1 must be a path below /dev'],
    ['podman: {devices: ["/dev/sda:/dev/x"]}', 'podman.devices.1 must be a path below /dev'],
    ['podman: {devices: [nvidia.com/gpu]}', 'podman.devices.1 must be a path below /dev'],
    ['podman: {capabilities: {add: [SYS_PTRAC]}}', 'is not a capability: did you mean SYS_PTRACE?'],
    ['podman: {selinux: "label=disable"}', 'podman.selinux must be disable, or a label'],
  ])('for %s', (text, message) => {
    const error = refusal(() => profile(text));
    expect(error).toMatchObject({ code: 'profile-invalid', exit: 'config' });
    expect(error.fields).toEqual({ file, profile: 'p' });
    expect(error.message).toContain(message);
  });

  it.each([
    ['', 'is no absolute path', 'must be an absolute path'],
    ['data', 'relative', 'must be an absolute path'],
    ['/', 'the host', 'is the root directory of the host'],
    ['//', 'the host, spelt oddly', 'must be a path without'],
    ['/etc', 'a parent of what is kept', 'exposes /etc/berth'],
    ['/etc/berth', 'kept', 'exposes /etc/berth'],
    ['/etc/berth/profiles/', 'below what is kept', 'exposes /etc/berth'],
    ['/run', 'a parent', 'exposes /run/berth'],
    ['/run/berth/connections', 'kept', 'exposes /run/berth'],
    ['/run/user/$UID', 'podman’s state', 'exposes /run/user'],
    ['/data/../etc', 'dots', 'must be a path without `..`'],
    ['/data/./x', 'dots', 'must be a path without `..`'],
    ['$HOME/..', 'dots', 'must be a path without `..`'],
    ['/data:rw', 'an option', 'must not contain `:`'],
    ['/data,ro', 'an option', 'must not contain `:`'],
    ['/data"', 'a quote', 'must not contain `:`'],
    ['/data\nx', 'a newline', 'must not contain `:`'],
    ['$PWD/x', 'unknown', 'contains the unknown variable $PWD'],
    ['$USERS', 'unknown', 'did you mean $USER?'],
    ['/x/${USER:-root}', 'a shell’s', 'contains the unknown variable $USER:-root'],
    ['/x/$(id)', 'a shell’s', 'has a $ without a name'],
    ['/x/${USER', 'unfinished', 'has a $ without a name'],
    ['$USER/x', 'relative', 'must be an absolute path'],
    ['$HOMEX', 'unknown', 'did you mean $HOME?'],
    ['$HOME$USER', 'no directory of the home', 'must be an absolute path'],
  ])('for a mount of %j: %s', (source, _what, message) => {
    const error = refusal(() => parseProfile({ image: 'a', mounts: [{ source }] }, 'p', file));
    expect(error.message).toContain('mounts.1.source');
    expect(error.message).toContain(message);
  });

  it.each([
    [{ target: '/' }, 'must not be /'],
    [{ target: '/run/berth/files' }, 'must not be at, below or above /run/berth, '],
    [{ target: '/run' }, 'must not be at, below or above /run/berth, '],
    [{ target: '/proc/sys' }, 'must not be at, below or above /proc, '],
    [{ target: '/a:b' }, 'must not contain `:`'],
    [{ target: '$HME' }, 'did you mean $HOME?'],
  ])('for a mount with %j', (more, message) => {
    const mounts = [{ source: '/data', ...more }];
    const error = refusal(() => parseProfile({ image: 'a', mounts }, 'p', file));
    expect(error.message).toContain(message);
  });

  it.each([
    ['grace: 5m', 'grace needs lifetime: user'],
    ['{lifetime: 8h, grace: 5m}', 'grace needs lifetime: user'],
    ['linger: true', 'linger needs lifetime: user'],
    ['lifetime: 0h', 'lifetime must be a time from 1ms'],
    ['deadline: 0s', 'deadline must be a time from 100ms'],
    ['on_failure: {action: fallback}', 'fallback needs on_failure.image'],
    ['on_failure: {action: fallback, image: a}', 'on_failure.image is the same as image'],
    ['on_failure: {action: refuse, image: b}', 'on_failure.image needs action: fallback'],
    ['on_failure: {action: host-shell}', 'host-shell needs on_failure.groups'],
    ['on_failure: {action: host-shell, groups: []}', 'on_failure.groups must not be empty'],
    ['on_failure: {action: refuse, groups: [wheel]}', 'on_failure.groups needs action: host-shell'],
    ['{network: none, slurm: {}}', 'slurm needs network: host'],
    ['{network: private, x11: true}', 'x11 needs network: host'],
    ['podman: {capabilities: {add: [KILL], drop: [CAP_KILL]}}', 'KILL both in add and in drop'],
    [
      'mounts: [{source: /a}, {source: /b, target: /a/}]',
      'mounts.2 has the same target as an earlier mount',
    ],
  ])('for what cannot be meant together: %s', (text, message) => {
    const document = parseYaml(text, file, 'core') as object;
    const error = refusal(() => parseProfile({ image: 'a', ...document }, 'p', file));
    expect(error.message).toContain(message);
  });

  it.each(['', 'Login', 'a_b', '-a', 'a.b', 'a b', '../x', 'a'.repeat(41)])(
    'for the name %j',
    (name) => {
      const error = refusal(() => parseProfile({ image: 'a' }, name, file));
      expect(error).toMatchObject({ code: 'profile-name-invalid', exit: 'config' });
    },
  );

  it('for a file of comments only: it names no image', () => {
    expect(refusal(() => read('# nothing\n')).message).toContain('image is missing');
    expect(refusal(() => read('[]')).message).toContain('the file must be a mapping');
  });

  it('naming every fault at once', () => {
    const error = refusal(() => profile('pull: x\nmounts: 3'));
    expect(error.message).toContain('pull must be');
    expect(error.message).toContain('mounts must be a list');
  });
});

describe('a broken profile', () => {
  const error = new BerthError('profile-invalid', 'x', { exit: 'config', hint: 'x' });
  it('is still for its groups, where they can be read', () => {
    expect(brokenProfile(error, { imag: 'x', groups: ['gpu'] }).groups).toEqual(['gpu']);
    expect(brokenProfile(error, { groups: 'gpu' })).toEqual({ error });
    expect(brokenProfile(error)).toEqual({ error });
  });
});
