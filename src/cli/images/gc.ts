import type { GcImage, GcResult } from '../../setup/images/collect-garbage.ts';
import { escapedForTerminal } from '../../log.ts';
import { assertRoot } from '../../system/as-user.ts';
import { command } from '../kit/command.ts';
import { flag, text } from '../kit/options.ts';
import { loadSsh, configDirOption } from '../kit/site-options.ts';
import { writeIdle } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { durationText } from '../kit/text.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';

export const gcCommand = command({
  command: 'gc',
  describe: 'Remove the images that no profile names and no container uses',
  options: {
    ...configDirOption,
    grace: text('TIME', 'How long to keep an image after the last profile that named it', {
      default: '7d',
    }),
    'dry-run': flag('Print what would be removed, and remove nothing'),
    timeout: text('TIME', 'Time limit of the whole run', { default: '10m' }),
  },
  examples: [
    ['berth images gc --dry-run', 'Print what would be removed, and why the rest is kept'],
  ],
  epilogue: 'The images in use are read from the storage of users, STORAGE/users/*/storage.',
  run: async (args, terminal) => {
    assertRoot();
    const { collectImages } = await import('../../setup/images/collect-garbage.ts');
    const dryRun = args['dry-run'];
    const options = {
      graceSeconds: parseSeconds(args.grace, 'grace', { least: '0s', most: '3650d' }),
      dryRun,
      now: Math.floor(terminal.now() / 1000),
      timeoutMs: parseSeconds(args.timeout, 'timeout') * 1000,
      env: terminal.env,
    };
    const site = await loadSsh(args);
    const result = await withProgress(
      terminal,
      () => 'looking for images in use',
      () => collectImages(site, options),
    );
    const all = dryRun || terminal.stdout.isTTY === true;
    const text = gcText(result, { all, ...options });
    if (text === '') writeIdle('no image in the store', dryRun, terminal);
    terminal.stdout.write(text);
  },
});

/** One line for each image, with the reason; without `all`, only for the removed ones. */
function gcText(
  { images, warnings }: GcResult,
  { all, dryRun, now }: { readonly all: boolean; readonly dryRun: boolean; readonly now: number },
): string {
  const told = images.filter(({ verdict }) => all || verdict === 'remove');
  const lines = told.map((image) => {
    const name =
      image.names.length === 0 ? 'without a name' : escapedForTerminal(image.names.join(', '));
    return `${image.id.slice(0, 12)}  ${name}: ${fate(image, dryRun, now)}`;
  });
  return [...lines, ...warnings.map((text) => `warning: ${escapedForTerminal(text)}`)]
    .map((line) => `${line}\n`)
    .join('');
}

function fate({ verdict, until = 0 }: GcImage, dryRun: boolean, now: number): string {
  switch (verdict) {
    case 'named':
      return 'kept: a profile names it';
    case 'used':
      return 'kept: a container of a user is based on it';
    case 'grace':
      return `kept for another ${durationText(until - now)}`;
    case 'remove':
      return dryRun ? 'would be removed' : 'removed';
  }
}
