import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ImageSite } from './image-site.ts';
import { Registry } from './registry.ts';

let registry: Registry;
let small: { tag: string; digest: string };
let large: { tag: string; digest: string };
let site: ImageSite;

beforeAll(async () => {
  registry = await Registry.start();
  small = await registry.push('site/small:1', 1);
  large = await registry.push('site/large:1', 100);
});
afterAll(() => registry.stop());

beforeEach(async () => {
  site = await ImageSite.make();
  return () => site.remove();
});

const pull = async (...args: string[]) =>
  site.berth(['pull', ...args, '--auth-file', await registry.authFile()], {
    SSL_CERT_FILE: registry.ca,
  });

describe('users of the store', () => {
  let host: SshHost;

  beforeEach(async () => {
    await site.profiles({ base: small.digest });
    await pull();
    host = await SshHost.start({
      mode: 'plain',
      images: site.store,
      users: { 'img-ada': [], 'img-bob': [] },
    });
    return () => host.stop();
  });

  const run = (user: string, image: string, command: string) =>
    host.asUser(user, [
      ...['podman', '--runtime', 'crun', '--cgroup-manager', 'cgroupfs'],
      ...['--storage-driver', 'overlay', '--log-level', 'error'],
      ...['--storage-opt', 'overlay.mount_program=/usr/bin/fuse-overlayfs'],
      ...['--storage-opt', 'additionalimagestore=/var/lib/berth-ssh/images'],
      ...['run', '--rm', '--userns', 'keep-id', '--network', 'host', '--pull', 'never'],
      ...[image, 'sh', '-c', command],
    ]);

  it('run its images by digest without pulling or copying anything', async () => {
    const { uid, home } = host.account('img-ada');
    for (const image of [small.digest, small.digest.replace('@', ':1@')]) {
      const { stdout, stderr } = await run('img-ada', image, 'id -u; stat -c %u:%a /bin/busybox');
      expect(`${stdout.toString()}${stderr}`).toBe(`${uid}\n0:755\n`);
    }
    const { stdout } = await host.asRoot(['du', '-sk', `${home}/.local/share/containers`]);
    expect(Number.parseInt(stdout.toString())).toBeLessThan(500);
  });

  it('can start sessions during pulls', async () => {
    let pulling = true;
    const pulls = (async () => {
      for (const image of [large.tag, large.digest, small.tag])
        expect((await pull(image)).stderr).toBe('');
      pulling = false;
    })();
    const failed: string[] = [];
    let runs = 0;
    const users = ['img-ada', 'img-bob'].map(async (user) => {
      for (; pulling; runs += 1) {
        const { exitCode, stderr } = await run(user, small.digest, 'true');
        if (exitCode !== 0) failed.push(stderr);
      }
    });
    await Promise.all([pulls, ...users]);
    expect(failed).toEqual([]);
    expect(runs).toBeGreaterThan(5);
  });
});
