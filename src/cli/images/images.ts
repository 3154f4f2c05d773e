import type { ListedImage } from '../../setup/images/list-images.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { assertRoot } from '../../system/as-user.ts';
import { command, group } from '../kit/command.ts';
import { outputOption, text, words } from '../kit/options.ts';
import { outputDirectory } from '../kit/output-path.ts';
import { loadSsh, configDirOption } from '../kit/site-options.ts';
import { reportErrors, writeIdle } from '../kit/terminal.ts';
import { sizeText, textTable } from '../kit/text.ts';
import { gcCommand } from './gc.ts';
import { pullCommand } from './pull.ts';

const listCommand = command({
  command: 'list',
  describe: 'List images of the profiles and of the store, with size, status and profiles',
  options: configDirOption,
  examples: [['berth images list', 'Which images are there, and who uses them']],
  epilogue:
    'STATUS: complete; missing, if a profile names it but it is not in the store; damaged, if layers are incomplete (see `berth images check`). Contacts no registry.',
  run: async (args, terminal) => {
    const { listImages } = await import('../../setup/images/list-images.ts');
    const site = await loadSsh(args);
    const images = listImages(site);
    if (images.length === 0) writeIdle('no images', false, terminal);
    else terminal.stdout.write(imagesText(images));
    reportErrors(terminal, site.broken.values());
  },
});

function imagesText(images: readonly ListedImage[]): string {
  const rows = images.map(({ image, id, sizeBytes, profiles, status }) => [
    image ?? '-',
    id?.slice(0, 12) ?? '-',
    sizeBytes === null ? '-' : sizeText(sizeBytes),
    status,
    profiles.join(',') || '-',
  ]);
  return textTable(['IMAGE', 'ID', 'SIZE', 'STATUS', 'PROFILES'], rows, [2]);
}

const checkCommand = command({
  command: 'check [image..]',
  describe: 'Check that each image is stored, complete, of the right digest and readable by users',
  positionals: { image: words('image', 'NAME[:TAG][@sha256:…]; default: those of all profiles') },
  options: { ...configDirOption, output: outputOption },
  examples: [
    ['berth images check -o json', 'Print JSON for monitoring: .summary.failed, .checks[].image'],
  ],
  epilogue:
    'Exit status: 0 no check failed, 1 a check failed, more than 1 it could not run (sysexits(3)). No registry is contacted, and nothing is changed.',
  run: async (args, terminal) => {
    const { checkImages } = await import('../../setup/images/check-images.ts');
    const { writeChecks } = await import('../kit/check-report.ts');
    return writeChecks(checkImages(await loadSsh(args), args.image), args.output, terminal);
  },
});

const filesCommand = command({
  command: 'files',
  describe: "Copy this host's sftp-server and scp to a directory that every session can use",
  options: {
    to: text(
      'directory',
      `Directory to copy to; sessions have it as /run/berth/files [default: ${installedPath('files')}]`,
    ),
  },
  epilogue:
    'They are copied with their loader and libraries, so they run in any image. Run it again after an update of OpenSSH or the C library; berth-images.timer does.',
  run: async ({ to }, terminal) => {
    assertRoot();
    const { installTransferTools } = await import('../../setup/images/copy-transfer-tools.ts');
    const wanted = outputDirectory('--to', to ?? terminal.toolsDir);
    const { directory, changed, removed } = await installTransferTools(wanted);
    const what = [...changed, ...removed.map((name) => `${name} (removed)`)].join(', ');
    if (what === '') writeIdle(`${directory}: nothing to do`, false, terminal);
    else terminal.stdout.write(`${directory}: ${what}\n`);
  },
});

/** `berth images …`: the images of sessions, in a store that all users read. */
export const imagesCommand = group('images', 'Manage the shared image store of sessions', [
  listCommand,
  pullCommand,
  checkCommand,
  gcCommand,
  filesCommand,
]);
