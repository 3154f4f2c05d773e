/**
 * `npm run package` makes the packages of Berth in `dist/packages`: for each architecture a .deb, an .rpm and a tarball, with a
 * list of what is in them (CycloneDX) and checksums. The same sources give the same bytes.
 *
 * Needs Go, which builds nfpm from its module, and npm's registry for the Node of another architecture.
 */
import './check-node.ts';
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { parse } from 'yaml';
import { installTree } from './install-tree.ts';
import {
  architectures,
  isArchitecture,
  nodeFor,
  type Architecture,
} from './package/node-binaries.ts';
import { softwareBill } from './package/software-bill.ts';

const repository = new URL('..', import.meta.url).pathname;
const ours = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
  version: string;
};
const { values } = parseArgs({
  options: {
    version: { type: 'string', default: ours.version },
    out: { type: 'string', default: join(repository, 'dist/packages') },
    arch: { type: 'string', multiple: true, default: Object.keys(architectures) },
  },
});
const { version } = values;
const [release] = parse(await readFile(join(repository, 'packaging/changelog.yml'), 'utf8')) as [
  { date: string },
];
/** Of all files, and of the packages: seconds since the epoch. */
const epoch = process.env.SOURCE_DATE_EPOCH ?? String(Date.parse(release.date) / 1000);

// Go builds it once, and prints where.
const { stdout: nfpmProgram } = await execa('go', ['tool', '-n', 'nfpm'], {
  cwd: join(repository, 'packaging'),
});

await rm(values.out, { recursive: true, force: true });
await mkdir(values.out, { recursive: true });
for (const arch of values.arch) {
  if (!isArchitecture(arch))
    throw new Error(`--arch ${arch}: must be one of ${Object.keys(architectures).join(', ')}`);
  await makePrograms(arch);
}
for (const name of ['berth-login', 'berth-portal']) await nfpm(name);
await writeFile(join(values.out, `berth-${version}.cdx.json`), await softwareBill(version, epoch));
await writeChecksums();

/** The package and the tarball with the programs, for one architecture. */
async function makePrograms(arch: Architecture): Promise<void> {
  const root = join(values.out, `root-${arch}`);
  try {
    await installTree({ destdir: root, prefix: '/usr/lib/berth', node: await nodeFor(arch) });
    await execa('find', [
      root,
      '-exec',
      'touch',
      '--no-dereference',
      `--date=@${epoch}`,
      '{}',
      '+',
    ]);
    await nfpm('berth', { ARCH: arch, ROOT: root });
    await tarball(arch, root);
  } finally {
    await rm(root, { recursive: true });
  }
}

/** The .deb and the .rpm of `packaging/NAME.yml`. */
async function nfpm(name: string, variables: Readonly<Record<string, string>> = {}): Promise<void> {
  const words = ['package', '--config', `packaging/${name}.yml`, '--target', values.out];
  for (const format of ['deb', 'rpm'])
    await execa(nfpmProgram, [...words, '--packager', format], {
      cwd: repository,
      env: {
        ...variables,
        VERSION: version,
        SOURCE_DATE_EPOCH: epoch,
        MAINTAINER: 'The Berth project <berth@example.org>',
        HOMEPAGE: 'https://berth.example.org',
      },
    });
}

/** For hosts with another package manager: `tar -xzf FILE -C /`. */
async function tarball(arch: string, root: string): Promise<void> {
  const sorted = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${epoch}`];
  const file = join(values.out, `berth-${version}-linux-${arch}.tar.gz`);
  const archive = ['--create', `--file=${file}`, '--use-compress-program=gzip --no-name --fast'];
  await execa('tar', [...archive, ...sorted, `--directory=${root}`, './usr']);
}

async function writeChecksums(): Promise<void> {
  const lines: string[] = [];
  for (const name of (await readdir(values.out)).sort()) {
    const hash = createHash('sha256').update(await readFile(join(values.out, name)));
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  await writeFile(join(values.out, 'SHA256SUMS'), lines.join(''));
}
