/**
 * `npm run bench:ssh-first [-- RUNS]`, as root: compares the start of a user's first container, with an empty
 * user store, with that of later ones, for two sizes of the image.
 */
import '../../scripts/check-node.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { imagesDirectory } from '../rig/site/directories.ts';
import { step } from '../rig/site/progress.ts';
import { siteArchive } from '../rig/login-node/image-archives.ts';
import { buildImageStore } from '../rig/login-node/image-store.ts';
import { SshHost } from '../rig/login-node/ssh-host.ts';
import { machine, median } from './measure.ts';
import { heading, checkBound, printLine } from './report.ts';

/** Megabytes of random data that are added to the site image. */
const images = { 'localhost/bench-860:1': 400, 'localhost/bench-1720:1': 1260 } as const;
type Image = keyof typeof images;
const [small, large] = Object.keys(images) as [Image, Image];

const runs = Number(process.argv[2] ?? 7);
const store = join(imagesDirectory, 'store-of-bench');

await makeStore();
const host = await SshHost.start({ mode: 'plain', images: store, users: { 'bench-first': [] } });
try {
  await bench();
} finally {
  await host.stop();
  await rm(store, { recursive: true, force: true });
}

async function bench(): Promise<void> {
  printLine(`First and later containers: ${machine}; medians of ${runs} interleaved runs`);
  const rows = [small, large].map((image) => ({
    image,
    first: [] as number[],
    later: [] as number[],
    size: '',
  }));
  for (let run = 0; run <= runs; run += 1)
    for (const row of rows) {
      const directory = `/run/user/${host.account('bench-first').uid}/${run}`;
      const [one, other] = [
        await podmanRun(directory, row.image),
        await podmanRun(directory, row.image),
      ];
      row.size = await usedKiB(directory);
      await removed(directory);
      // The first round fills the page cache and is not counted.
      if (run === 0) continue;
      row.first.push(one.ms);
      row.later.push(other.ms);
      if (!other.root.startsWith('fuse'))
        throw new Error(`the container's root file system is ${other.root}, not fuse-overlayfs`);
    }
  heading('podman run --rm --userns keep-id IMAGE, from the shared store, with fuse-overlayfs');
  for (const { image, first, later, size } of rows)
    printLine(
      `${image.padEnd(24)} first ${median(first)} ms, later ${median(later)} ms; the user's store has ${size} KiB`,
    );
  const [one, twice] = rows.map(({ first, later }) => ({
    first: median(first),
    later: median(later),
  }));
  if (one === undefined || twice === undefined) return;
  const withLater = { value: one.first / one.later };
  checkBound('first container compared with later ones', withLater, { atMost: 1.5 });
  const withSmaller = { value: twice.first / one.first };
  checkBound('first container with twice the image size', withSmaller, { atMost: 1.15 });

  heading('the same with the kernel’s overlayfs, for which podman copies and chowns the layers');
  const directory = '/var/lib/berth-ssh/users/bench';
  const { uid } = host.account('bench-first');
  await host.asRoot(['install', '-d', '-o', String(uid), '/var/lib/berth-ssh/users', directory]);
  for (const turn of ['first', 'later'])
    try {
      printLine(`${small.padEnd(24)} ${turn} ${(await podmanRun(directory, small, [])).ms} ms`);
    } catch (error) {
      printLine(`${small.padEnd(24)} ${turn}: ${String(error).trim()}`);
    }
  printLine(`the user's store has ${await usedKiB(directory)} KiB`);
  await removed(directory);
}

/** Runs a container. @returns the time in milliseconds, and the type of its root file system */
async function podmanRun(
  directory: string,
  image: Image,
  mounted: readonly string[] = ['--storage-opt', 'overlay.mount_program=/usr/bin/fuse-overlayfs'],
): Promise<{ readonly ms: number; readonly root: string }> {
  const started = performance.now();
  const { exitCode, stdout, stderr } = await host.asUser(
    'bench-first',
    [
      ...['podman', '--root', `${directory}/storage`, '--runroot', `${directory}/run`],
      ...['--tmpdir', `${directory}/tmp`, '--runtime', 'crun', '--cgroup-manager', 'cgroupfs'],
      ...['--events-backend', 'none', '--log-level', 'error', '--storage-driver', 'overlay'],
      ...mounted,
      ...['--storage-opt', 'additionalimagestore=/var/lib/berth-ssh/images'],
      ...['run', '--rm', '--userns', 'keep-id', '--network', 'host', '--log-driver', 'none'],
      ...['--pull', 'never', image, 'sed', '-n', 's,^[^ ]* / \\([^ ]*\\) .*,\\1,p', '/proc/mounts'],
    ],
    { timeout: 300_000 },
  );
  if (exitCode !== 0) throw new Error(stderr);
  return { ms: Math.round(performance.now() - started), root: stdout.toString().trim() };
}

async function usedKiB(directory: string): Promise<string> {
  const { stdout } = await host.asRoot(['du', '-sk', directory]);
  return stdout.toString().split('\t')[0] ?? '';
}

async function removed(directory: string): Promise<void> {
  await host.asRoot(['rm', '-rf', directory]);
}

async function makeStore(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-first-'));
  try {
    const archives: Record<string, string> = {};
    for (const [image, megabytes] of Object.entries(images)) {
      const tar = join(directory, `${megabytes}.tar`);
      await execa('cp', ['--reflink=auto', await siteArchive(), tar]);
      const bytes = join(directory, 'bytes');
      await execa('dd', ['if=/dev/urandom', `of=${bytes}`, 'bs=1M', `count=${megabytes}`]);
      await execa('tar', ['-rf', tar, '-C', directory, './bytes']);
      archives[image] = tar;
    }
    await step('building the images', () => buildImageStore(store, archives));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
