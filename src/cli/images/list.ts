import type { CommandModule } from 'yargs';
import { type ListedImage, listImages } from '../../images/image-index.ts';
import { type ImagesArguments, imageSettings, imagesOptions } from './images-options.ts';
import { documentText } from '../kit/json-document.ts';
import { reportErrors, type Terminal, writeIdle } from '../kit/terminal.ts';
import { textTable } from '../kit/text-table.ts';
import { sizeText } from '../kit/units-text.ts';

export function listCommand(terminal: Terminal): CommandModule<object, ImagesArguments> {
  return {
    command: 'list',
    describe: 'List images of the profiles and of the store, with size, status and profiles',
    builder: (yargs) =>
      imagesOptions(yargs)
        .example('berth images list', 'Which images are there, and who uses them')
        .example('berth images list -o json', 'Print JSON: .images[].digests, .images[].status')
        .epilogue(
          'STATUS: complete; missing, if a profile names it but it is not in the store; damaged, if layers are incomplete (see `berth images check`). Contacts no registry.',
        ),
    handler: async (args) => {
      const site = await imageSettings(args);
      const images = listImages(site);
      if (args.output === 'json') terminal.stdout.write(documentText('ImageList', { images }));
      else if (images.length === 0) writeIdle('no images', false, terminal);
      else terminal.stdout.write(imagesText(images));
      reportErrors(terminal, site.broken.values());
    },
  };
}

function imagesText(images: readonly ListedImage[]): string {
  const rows = images.map(({ image, id, sizeBytes, profiles, status }) => [
    ...[image ?? '-', id?.slice(0, 12) ?? '-', sizeBytes === null ? '-' : sizeText(sizeBytes)],
    ...[status, profiles.join(',') || '-'],
  ]);
  return textTable(['IMAGE', 'ID', 'SIZE', 'STATUS', 'PROFILES'], rows, [2]);
}
