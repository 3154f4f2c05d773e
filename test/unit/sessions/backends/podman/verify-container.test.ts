import { describe, expect, it } from 'vitest';
import {
  assertMounted,
  parseMountinfo,
  mountOrigins,
} from '../../../../../src/sessions/backends/podman/verify-container.ts';

/** proc(5): ID, parent, device, root, mount point, … */
const host = parseMountinfo(
  [
    '20 1 8:1 / / rw - ext4 /dev/sda1 rw',
    '21 20 0:30 / /run rw - tmpfs tmpfs rw',
    '22 20 0:40 /export/home /home rw - nfs server:/export rw',
    '23 20 8:2 / /scratch\\040two rw - xfs /dev/sdb rw',
  ].join('\n'),
);
const checked = new Map([
  ['/home/eve', '/home/eve'],
  ['/data', '/scratch two/eve'],
  ['/all', '/home'],
]);
const origins = mountOrigins(checked, host);
const inside = (...lines: string[]) =>
  parseMountinfo(['1 0 0:99 / / rw - overlay overlay rw', ...lines].join('\n'));
const honest = [
  '2 1 0:40 /export/home/eve /home/eve rw - nfs server:/export rw',
  '3 1 8:2 /eve /data rw - xfs /dev/sdb rw',
  '4 1 0:40 /export/home /all rw - nfs server:/export rw',
];
const changed = expect.objectContaining({ code: 'session-mount-changed' }) as Error;

describe('what a container has mounted', () => {
  it('is known by file system and directory, whatever its name is', () => {
    expect(Object.fromEntries(origins)).toEqual({
      '/home/eve': { device: '0:40', path: '/export/home/eve' },
      '/data': { device: '8:2', path: '/eve' },
      '/all': { device: '0:40', path: '/export/home' },
    });
  });

  it('is what was checked, also where the image has a symlink on the way to the target', () => {
    const check = (lines: string[]) => () =>
      assertMounted(1, origins, { name: 'base' }, inside(...lines));
    expect(check(honest)).not.toThrow();
    expect(check(honest.map((line) => line.replace(' /data ', ' /srv/data ')))).not.toThrow();
  });

  it.each([
    ['another directory of the same file system', '3 1 8:2 /other /data rw - xfs /dev/sdb rw'],
    ['the run directory', '3 1 0:30 /user/1042 /data rw - tmpfs tmpfs rw'],
    ['a second one over it', `${honest[1] ?? ''}\n9 1 0:30 / /data rw - tmpfs tmpfs rw`],
    ['nothing', ''],
  ])('is refused where it is %s', (_what, line) => {
    const [home = '', , all = ''] = honest;
    expect(() =>
      assertMounted(1, origins, { name: 'base' }, inside(home, ...line.split('\n'), all)),
    ).toThrow(changed);
  });
});
