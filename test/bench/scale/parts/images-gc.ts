import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { readIndex } from '../../../../src/setup/images/store-transaction.ts';
import { ImageSite } from '../../../node/images/image-site.ts';
import { Registry } from '../../../node/images/registry.ts';
import { ensureCommand } from '../../../rig/site/debian-packages.ts';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { recordCommand } from '../bounded-command.ts';
import type { ScalePart } from '../parts.ts';

const counts = [6_000, 20_000, 60_000];
const firstUid = 100_000;

/**
 * What the garbage collection of images costs with the stores of many users. The shared store is pulled from a registry; the users' stores
 * are simulated: the four lists of one container each, as podman writes them, on a local disk and in the page cache.
 */
export const imagesGc: ScalePart = {
  title: 'Garbage collection of images, with the stores of users',
  async run(record) {
    await ensureCommand('time', 'time');
    await installBerth();
    const registry = await Registry.start();
    const site = await ImageSite.make();
    try {
      const [kept, other] = [
        await registry.push('site/kept:1', 1),
        await registry.push('site/other:1', 1),
      ];
      await site.profiles({ base: kept.tag, old: other.tag });
      const pull = ['pull', '--auth-file', await registry.authFile()];
      const { stderr } = await site.berth(pull, { SSL_CERT_FILE: registry.ca });
      if (stderr !== '') throw new Error(stderr);
      await site.profiles({ base: kept.tag });
      const images = readIndex(site.store).images.map(({ id, layer = '' }) => ({ id, layer }));
      let from = 0;
      for (const count of counts) {
        for (; from < count; from += 1) {
          writeStore(site.storage, firstUid + from, images[from % images.length]);
          if (from % 100 === 0) await setImmediate();
        }
        const size = { count, of: 'users' };
        const argv = [join(installDirectory, 'berth'), ...site.words(['gc'])];
        const what = 'berth images gc';
        await recordCommand(record, {
          ...{ what: `${what} --dry-run`, size, argv: [...argv, '--dry-run'] },
        });
        await recordCommand(record, { what, size, argv });
      }
    } finally {
      await registry.stop();
      await site.remove();
    }
  },
};

/** Lists of one container and its layer, in the form of containers/storage 1.43. */
function writeStore(
  storage: string,
  uid: number,
  image: { readonly id: string; readonly layer: string } = { id: '', layer: '' },
): void {
  const own = join(storage, 'users', String(uid));
  const hex = (part: number): string => `${part}${uid}`.padStart(64, '0');
  const created = '2026-01-01T08:00:00.123456789Z';
  const [containers, layers] = ['storage/overlay-containers', 'storage/overlay-layers'];
  const container = {
    ...{ id: hex(1), names: ['berth-login'], image: image.id, layer: hex(2) },
    metadata: JSON.stringify({
      'image-name': 'registry.example/site/login:1',
      name: 'berth-login',
    }),
    ...{ created, flags: { MountLabel: '', ProcessLabel: '' } },
  };
  const map = [{ container_id: 0, host_id: 655_360_000, size: 65_536 }];
  const layer = {
    ...{ id: hex(2), names: ['berth-login-layer'], parent: image.layer, created },
    ...{ uidmap: map, gidmap: map },
  };
  for (const directory of ['.', 'storage', containers, layers]) {
    mkdirSync(join(own, directory), { recursive: true, mode: 0o700 });
    chownSync(join(own, directory), uid, uid);
  }
  for (const [file, records] of [
    [`${containers}/containers.json`, [container]],
    [`${containers}/volatile-containers.json`, []],
    [`${layers}/layers.json`, [layer]],
    [`${layers}/volatile-layers.json`, []],
  ] as const) {
    writeFileSync(join(own, file), JSON.stringify(records), { mode: 0o600 });
    chownSync(join(own, file), uid, uid);
  }
}
