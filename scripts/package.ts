/**
 * `npm run package` makes the packages of Berth in `dist/packages`: for each architecture a .deb, an .rpm and a tarball, with a
 * list of what is in them (CycloneDX) and checksums. The same sources give the same bytes. `--version`, `--out DIR`; `--arch` and
 * `--format`, both more than once, make only those.
 *
 * Needs Go, which builds nfpm from its module, npm's registry for the Node of another architecture, and for an .rpm
 * checkmodule and semodule_package.
 */
import './check-node.ts';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { parse, stringify } from 'yaml';
import { installTree } from './install-tree.ts';
import { installCopy } from './outputs.ts';
import { architectures, isArchitecture, nodeFor } from './package/node-binaries.ts';
import { selinuxModule } from './package/selinux-module.ts';
import { writeManPages } from './man-pages.ts';
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
    format: { type: 'string', multiple: true, default: ['deb', 'rpm', 'tar'] },
  },
});
const { version } = values;
const [release] = parse(await readFile(join(repository, 'packaging/changelog.yml'), 'utf8')) as [
  { date: string },
];
/** Of all files, and of the packages: seconds since the epoch. */
const epoch = process.env.SOURCE_DATE_EPOCH ?? String(Date.parse(release.date) / 1000);

const missing = [
  ['go', 'Go 1.25 or later (https://go.dev/dl; golang-go of Debian 12 is older)'],
  ...(values.format.includes('rpm')
    ? [
        ['checkmodule', 'checkpolicy'],
        ['semodule_package', 'semodule-utils (Debian) or policycoreutils (RHEL)'],
      ]
    : []),
].filter(([program = '']) => !isOnPath(program));
if (missing.length > 0)
  sayAndExit(
    new Error(
      `these programs are missing: ${missing.map(([program]) => program).join(', ')}\nnext: install ${missing.map(([, from]) => from).join(', ')}; without the RPM packages (--format deb --format tar) only Go is needed`,
    ),
  );

console.error(
  `making ${values.format.join(', ')} for ${values.arch.join(', ')}: this takes a minute or two`,
);

const archs = values.arch.map((arch) => {
  if (isArchitecture(arch)) return arch;
  throw new Error(`--arch ${arch}: must be one of ${Object.keys(architectures).join(', ')}`);
});
for (const format of values.format)
  if (!['deb', 'rpm', 'tar'].includes(format))
    throw new Error(`--format ${format}: must be one of deb, rpm, tar`);

await rm(values.out, { recursive: true, force: true });
const work = join(values.out, 'work');
await mkdir(work, { recursive: true });
const policy = values.format.includes('rpm') ? await selinuxModule(work).catch(sayAndExit) : '';
// Go builds it once, and prints where.
const { stdout: nfpmProgram } = await execa('go', ['tool', '-n', 'nfpm'], {
  cwd: join(repository, 'packaging'),
});
const root = join(work, 'root');
const manual = join(work, 'manual');
const described = join(work, 'berth.yml');
for (const [index, arch] of archs.entries()) {
  const node = await nodeFor(arch);
  // Only Node differs.
  if (index === 0) {
    await installTree({ destdir: root, prefix: '/usr/lib/berth', node, version });
    const date = release.date.slice(0, 10);
    await describe(await writeManPages(join(manual, 'usr/share/man'), { version, date }));
  } else await installCopy(join(root, 'usr/lib/berth/node'), node);
  await execa('find', [work, '-exec', 'touch', '--no-dereference', `--date=@${epoch}`, '{}', '+']);
  const variables = { ARCH: arch, ROOT: root, MANUAL: manual, POLICY: policy };
  await Promise.all([nfpm('berth', variables, described), tarball(arch)]);
}
for (const name of ['berth-login', 'berth-portal']) await nfpm(name);
await rm(work, { recursive: true });
await writeFile(join(values.out, `berth-${version}.cdx.json`), await softwareBill(version, epoch));
await writeChecksums();
for (const name of (await readdir(values.out)).sort()) console.log(join(values.out, name));

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .some((directory) => existsSync(join(directory, program)));
}

/** A missing program is no fault of this script, whose stack would hide what to do. */
function sayAndExit({ message }: Error): never {
  console.error(message);
  // This is an entry point.
  // eslint-disable-next-line no-restricted-syntax
  process.exit(1);
}

/** The .deb and the .rpm of `packaging/NAME.yml`. */
async function nfpm(
  name: string,
  variables: Readonly<Record<string, string>> = {},
  config = `packaging/${name}.yml`,
): Promise<void> {
  const words = ['package', '--config', config, '--target', values.out];
  const formats = values.format.filter((format) => format !== 'tar');
  await Promise.all(
    formats.map((format) =>
      execa(nfpmProgram, [...words, '--packager', format], {
        cwd: repository,
        env: {
          ...variables,
          VERSION: version,
          SOURCE_DATE_EPOCH: epoch,
          MAINTAINER: 'The Berth project <berth@example.org>',
          HOMEPAGE: 'https://berth.example.org',
        },
      }),
    ),
  );
}

/** Adds the manual pages to packaging/berth.yml. rpm marks documentation, and nfpm wants each file of it named. */
async function describe(pages: readonly string[]): Promise<void> {
  const text = await readFile(join(repository, 'packaging/berth.yml'), 'utf8');
  // 1.1, as Go reads it: 0755 is octal.
  const { contents, ...rest } = parse(text, { version: '1.1' }) as { contents: readonly object[] };
  const documents = pages.map((page) => ({
    src: join(manual, 'usr/share/man', page),
    dst: join('/usr/share/man', page),
    type: 'doc',
    packager: 'rpm',
  }));
  await writeFile(described, stringify({ ...rest, contents: [...contents, ...documents] }));
}

/** For hosts with another package manager: `tar -xzf FILE -C /`. */
async function tarball(arch: string): Promise<void> {
  if (!values.format.includes('tar')) return;
  const sorted = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${epoch}`];
  const file = join(values.out, `berth-${version}-linux-${arch}.tar.gz`);
  const archive = ['--create', `--file=${file}`, '--use-compress-program=gzip --no-name --fast'];
  await execa('tar', [
    ...archive,
    ...sorted,
    `--directory=${root}`,
    './usr',
    `--directory=${manual}`,
    './usr',
  ]);
}

async function writeChecksums(): Promise<void> {
  const lines: string[] = [];
  for (const name of (await readdir(values.out)).sort()) {
    const hash = createHash('sha256').update(await readFile(join(values.out, name)));
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  await writeFile(join(values.out, 'SHA256SUMS'), lines.join(''));
}
