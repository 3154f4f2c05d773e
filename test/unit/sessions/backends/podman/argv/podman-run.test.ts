import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../../../../../src/config/schema/profile/profile-parse.ts';
import {
  containerName,
  podmanRunCommand,
} from '../../../../../../src/sessions/backends/podman/argv/podman-run.ts';
import { host } from '../../../request/host.ts';

const profile = (fields: object = {}) => parseProfile({ image: 'a', ...fields }, 'p', 'p.yml');
const words = (
  fields: object = {},
  ready: Partial<Parameters<typeof podmanRunCommand>[2]> = {},
) => {
  const { args } = podmanRunCommand(host, profile(fields), { mounts: [], ...ready });
  return args.slice(args.indexOf('run'));
};
/** What follows each `option`. */
const values = (list: readonly string[], option: string) =>
  list.filter((_, index) => list[index - 1] === option);

describe('the name of a container', () => {
  it("is the profile's, and the connection's where it ends with that", () => {
    const name = (lifetime: string, connection?: string) =>
      containerName(profile({ lifetime }), connection);
    expect(name('user', '12.34')).toBe('berth-p');
    expect(name('8h', '12.34')).toBe('berth-p');
    expect(name('connection', '12.34')).toBe('berth-p-12.34');
    expect(name('connection')).toBe('berth-p');
  });
});

describe('podman run', () => {
  it('says where everything is kept: nothing of it is read in the home', () => {
    const { file, args, env } = podmanRunCommand(host, profile(), { mounts: [] });
    expect(file).toBe('/usr/bin/podman');
    const global = args.slice(0, args.indexOf('run'));
    expect(values(global, '--root')).toEqual(['/var/lib/berth-ssh/users/5501/storage']);
    expect(values(global, '--runroot')).toEqual(['/run/user/5501/containers']);
    expect(values(global, '--tmpdir')).toEqual(['/run/user/5501/libpod/tmp']);
    expect(env).toMatchObject({ HOME: '/var/lib/berth-ssh/users/5501' });
    expect(JSON.stringify(env)).not.toContain('/home/ada');
  });

  it('keeps the IDs, the groups and the name of the user', () => {
    const list = words();
    expect(values(list, '--userns')).toEqual(['keep-id']);
    expect(values(list, '--group-add')).toEqual(['keep-groups']);
    expect(values(list, '--passwd-entry')).toEqual(['ada:*:5501:5502::/home/ada:/bin/bash']);
  });

  it('takes the maps in the place of keep-id, and the user then by number', () => {
    const maps = {
      uids: [
        { inside: 0, outside: 1, count: 5501 },
        { inside: 5501, outside: 0, count: 1 },
      ],
      gids: [{ inside: 5502, outside: 0, count: 1 }],
    };
    const list = words({}, { maps });
    expect(values(list, '--uidmap')).toEqual(['0:1:5501', '5501:0:1']);
    expect(values(list, '--gidmap')).toEqual(['5502:0:1']);
    expect(values(list, '--user')).toEqual(['5501:5502']);
    expect(list).not.toContain('--userns');
  });

  it('mounts what is ready, by options in which a colon is no separator', () => {
    const mounts = [
      { source: '/home/ada', target: '/home/ada', readOnly: false },
      { source: '/data/a:b', target: '/data', readOnly: true },
    ];
    expect(values(words({}, { mounts }), '--mount')).toEqual([
      'type=bind,source=/home/ada,target=/home/ada,bind-propagation=rslave',
      'type=bind,source=/data/a:b,target=/data,bind-propagation=rslave,readonly',
    ]);
  });

  it('has scratch directories of its own, but where something is mounted', () => {
    expect(values(words(), '--volume')).toEqual(['/tmp', '/var/tmp']);
    const mounts = [{ source: '/scratch/ada', target: '/tmp', readOnly: false }];
    expect(values(words({}, { mounts }), '--volume')).toEqual(['/var/tmp']);
  });

  it.each([
    [{ limits: { cpus: 1.5 } }, '--cpus', ['1.5']],
    [{ limits: { memory: '2G' } }, '--memory', [`${2 * 1024 ** 3}b`]],
    [{ limits: { pids: 100 } }, '--pids-limit', ['100']],
    [{ network: 'private' }, '--network', ['slirp4netns']],
    [{ network: 'host' }, '--network', ['host']],
    [{ hostname: '$USER-box' }, '--hostname', ['ada-box']],
    [{ podman: { devices: ['/dev/fuse', 'nvidia.com/gpu=all'] } }, '--device', 2],
    [{ podman: { capabilities: { drop: ['ALL'] } } }, '--cap-drop', ['ALL']],
    [
      { podman: { selinux: 'disable' } },
      '--security-opt',
      ['mask=/sys/fs/cgroup:/sys/fs/fuse/connections', 'label=disable'],
    ],
    [{ pull: 'missing' }, '--pull', ['missing']],
    [{}, '--pull', ['never']],
  ])('%j: %s %j', (fields, option, expected) => {
    const found = values(words(fields), option);
    if (typeof expected === 'number') expect(found).toHaveLength(expected);
    else expect(found).toEqual(expected);
  });

  it('runs an init that only waits, whatever the image would start, and another image where told', () => {
    expect(words().slice(-8)).toEqual([
      '--init',
      '--init-path',
      '/usr/libexec/podman/catatonit',
      '--entrypoint',
      '[]',
      'a',
      '/run/podman-init',
      '-P',
    ]);
    expect(words({}, { image: 'b' }).at(-3)).toBe('b');
  });
});
