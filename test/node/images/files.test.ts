import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bundledArgv } from '../../../src/config/schema/bundled-transfer-argv.ts';
import { parseLdd } from '../../../src/setup/images/copy-transfer-tools.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { busyboxArchive } from '../../rig/login-node/image-archives.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ImageSite } from './image-site.ts';

const busybox = 'localhost/berth-busybox:1';
const scratch = 'localhost/berth-scratch:1';

let site: ImageSite;
let directory: string;

const install = () =>
  execa(join(installDirectory, 'berth'), ['images', 'files', '--to', directory], { reject: false });

/** Makes a site with the files. @returns a function that removes it */
async function makeSite(): Promise<() => Promise<void>> {
  site = await ImageSite.make();
  directory = join(site.directory, 'files');
  const { exitCode, stderr } = await install();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return () => site.remove();
}

beforeAll(() => ensurePackages(['openssh-sftp-server', 'openssh-client', 'busybox-static']));

describe('in a session', () => {
  let host: SshHost;

  // Once: these tests change neither the images nor the files.
  beforeAll(async () => {
    const remove = await makeSite();
    for (const [image, root] of [
      [busybox, await busyboxArchive()],
      [scratch, await staticOnly()],
    ] as const)
      await load(image, root);
    host = await SshHost.start({ mode: 'plain', images: site.store, users: { 'img-ada': [] } });
    return async () => {
      await host.stop();
      await remove();
    };
  });

  /** A tar that contains one static program. */
  async function staticOnly(): Promise<string> {
    const file = join(site.directory, 'scratch.tar');
    await execa('tar', ['-cf', file, '-C', '/bin', 'busybox']);
    return file;
  }

  async function load(image: string, root: string): Promise<void> {
    // Podman needs a short path for its runroot.
    const make = await mkdtemp(join(tmpdir(), 'berth-make-'));
    const store = [`--root=${make}/store`, `--runroot=${make}/run`, '--storage-driver=vfs'];
    const archive = join(make, 'image.tar');
    await execa('podman', [...store, 'import', '--quiet', root, image]);
    await execa('podman', [...store, 'save', '--quiet', '--output', archive, image]);
    const { stderr } = await site.berth(['pull', '--from-archive', archive, image]);
    expect(stderr).toBe('');
    await rm(make, { recursive: true });
  }

  /** Runs it as in a session: the user's own podman, the directory mounted read-only, the home read-write. */
  function podman(image: string, words: readonly string[]): string[] {
    const { home } = host.account('img-ada');
    return [
      ...['podman', '--runtime', 'crun', '--cgroup-manager', 'cgroupfs', '--log-level', 'error'],
      ...['--storage-driver', 'overlay'],
      ...['--storage-opt', 'overlay.mount_program=/usr/bin/fuse-overlayfs'],
      ...['--storage-opt', 'additionalimagestore=/var/lib/berth-ssh/images'],
      ...['run', '--rm', '--interactive', '--userns', 'keep-id', '--network', 'host'],
      ...['--pull', 'never', '--entrypoint', '[]', '--workdir', home],
      ...['--passwd-entry', `img-ada:*:$UID:$GID::${home}:/bin/sh`],
      ...['--volume', `${directory}:/run/berth/files:ro`, '--volume', `${home}:${home}`],
      ...[image, ...words],
    ];
  }

  /** Replaces `ssh` for a real client. */
  async function asSsh(image: string, words: readonly string[]): Promise<string> {
    const { uid } = host.account('img-ada');
    const call = [
      ...['nsenter', '--target', String(host.init), '--mount', '--pid', '--uts', '--wd=/'],
      ...['runuser', '-u', 'img-ada', '--', 'env', '-i', `HOME=${host.account('img-ada').home}`],
      ...['PATH=/usr/bin:/bin', `XDG_RUNTIME_DIR=/run/user/${uid}`, ...podman(image, words)],
    ];
    const script = join(site.directory, 'as-ssh');
    const text = `#!/bin/sh\nexec ${call.map((word) => `'${word}'`).join(' ')}\n`;
    await writeFile(script, text, { mode: 0o755 });
    return script;
  }

  it.each([
    ['nothing but one static program', scratch],
    ['busybox', busybox],
  ])('sftp moves files in and out of an image that has %s', async (_, image) => {
    const { home, uid } = host.account('img-ada');
    const bytes = randomBytes(3_000_000);
    const [there, back] = [join(site.directory, 'there'), join(site.directory, 'back')];
    await writeFile(there, bytes);
    const program = await asSsh(image, bundledArgv('sftp-server'));
    const { exitCode, stderr } = await execa('sftp', ['-q', '-S', program, '-b', '-', 'image'], {
      input: `put ${there} ${home}/there\nget ${home}/there ${back}\n`,
      reject: false,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect((await readFile(back)).equals(bytes)).toBe(true);
    const { stdout } = await host.asRoot(['stat', '-c', '%u', `${home}/there`]);
    expect(stdout.toString()).toBe(`${uid}\n`);
  });

  it('scp is found in PATH by a shell of the image', async () => {
    const { home } = host.account('img-ada');
    await host.asUser('img-ada', ['sh', '-c', 'printf text > file; chmod 644 file']);
    const command = `PATH=/run/berth/files:/bin; printf '\\0\\0\\0' | scp -f ${home}/file`;
    const { stdout, stderr } = await host.asUser(
      'img-ada',
      podman(busybox, ['/bin/sh', '-c', command]),
    );
    expect([stdout.toString(), stderr]).toEqual(['C0644 4 file\ntext\0', '']);
  });

  it('scp runs in an image without a shell', async () => {
    const words = podman(scratch, bundledArgv('scp', ['-f', '/busybox']));
    const { stdout, stderr } = await host.asUser('img-ada', words, { input: '\0\0\0' });
    expect([stdout.subarray(0, 6).toString(), stderr]).toEqual(['C0755 ', '']);
    expect(stdout.length).toBeGreaterThan(1_000_000);
  });

  it('nothing of the image is used, not even a library of the same name', async () => {
    const plant =
      'mkdir /tmp/l; cd /tmp/l; echo no library | tee libc.so.6 ld.so >libnss_files.so.2';
    const command = `${plant}; LD_LIBRARY_PATH=/tmp/l exec "$@"`;
    const { stdout, stderr } = await host.asUser(
      'img-ada',
      podman(busybox, [
        ...['/bin/sh', '-c', command, 'sh'],
        ...bundledArgv('sftp-server', ['-Q', 'requests']),
      ]),
    );
    expect([stdout.toString().includes('realpath'), stderr]).toEqual([true, '']);
  });
});

describe('berth images files', () => {
  beforeEach(makeSite);

  it('changes only files that differ, and removes files that no program needs', async () => {
    await writeFile(join(directory, 'lib/libold.so.1'), '');
    await writeFile(join(directory, 'scp'), 'something else');
    const before = await stat(join(directory, 'ld.so'));
    const { stdout } = await install();
    expect(stdout).toBe(`${directory}: scp, lib/libold.so.1 (removed)`);
    expect((await stat(join(directory, 'ld.so'))).ino).toBe(before.ino);
    expect((await install()).stdout).toBe('');
  });

  it('makes files that everybody can execute and only root can write', async () => {
    await rm(directory, { recursive: true });
    await execa('sh', [
      '-c',
      `umask 077; '${installDirectory}/berth' images files --to '${directory}'`,
    ]);
    const { stdout } = await execa('find', [directory, '-printf', '%m %u\n']);
    expect(new Set(stdout.split('\n'))).toEqual(new Set(['755 root']));
  });

  it('refuses a directory that others can write to', async () => {
    await chmod(directory, 0o777);
    const { exitCode, stderr } = await install();
    expect([exitCode, stderr]).toEqual([77, expect.stringContaining('[directory-unsafe]')]);
  });

  it('refuses a directory that another user can replace', async () => {
    await execa('chown', ['4711', site.directory]);
    const { exitCode, stderr } = await install();
    expect([exitCode, stderr]).toEqual([
      78,
      expect.stringContaining('[config-directory-writable]'),
    ]);
  });

  it('parses the output of ldd on x86 and ARM, with and without a path in front', () => {
    const text = [
      '\tlinux-vdso.so.1 (0x0000ffff9f1d0000)',
      '\tlibcrypto.so.3 => /lib/aarch64-linux-gnu/libcrypto.so.3 (0x0000ffff9ea00000)',
      '\tlibc.so.6 => /lib/aarch64-linux-gnu/libc.so.6 (0x0000ffff9e850000)',
      '\t/lib/ld-linux-aarch64.so.1 (0x0000ffff9f193000)',
    ].join('\n');
    expect(parseLdd(text)).toEqual({
      loader: '/lib/ld-linux-aarch64.so.1',
      libraries: ['/lib/aarch64-linux-gnu/libcrypto.so.3', '/lib/aarch64-linux-gnu/libc.so.6'],
    });
  });
});
