import { resolve } from 'node:path';
import type { CommandModule } from 'yargs';
import type { NameMove } from '../../images/image-names.ts';
import { assertRoot } from '../../system/as-user.ts';
import { parseSeconds } from '../kit/duration.ts';
import { type ImagesArguments, imageSettings, imagesOptions } from './images-options.ts';
import { confirmMoves, reportPlan, reportPull } from './pull-report.ts';
import { withProgress } from '../kit/progress.ts';
import { dryRunOption } from '../kit/report-options.ts';
import { reportErrors, type Terminal } from '../kit/terminal.ts';
import { usageError } from '../../errors/usage-error.ts';

const helpOf = 'berth images pull';

interface PullArguments extends ImagesArguments {
  readonly image?: readonly string[] | undefined;
  readonly 'auth-file'?: string | undefined;
  readonly 'from-archive'?: string | undefined;
  readonly timeout: string;
  readonly yes: boolean;
  readonly 'dry-run': boolean;
}

/** `berth images pull` */
export function pullCommand(terminal: Terminal): CommandModule<object, PullArguments> {
  return {
    command: 'pull [image..]',
    describe: 'Pull the images of all profiles, or the named ones, into the shared store',
    builder: (yargs) =>
      imagesOptions(yargs)
        .positional('image', { type: 'string', array: true, describe: 'NAME[:TAG][@sha256:…]' })
        .option('auth-file', {
          type: 'string',
          requiresArg: true,
          describe: 'Registry credentials: config.json of Docker or auth.json of Podman',
        })
        .option('from-archive', {
          type: 'string',
          requiresArg: true,
          describe: 'Load a Docker or OCI archive instead of pulling from a registry',
        })
        .option('timeout', {
          type: 'string',
          requiresArg: true,
          default: '1h',
          describe: 'Time limit for all images together',
        })
        .option('yes', {
          type: 'boolean',
          default: false,
          describe: 'With --from-archive: do not ask before names move to images of the archive',
        })
        .option(
          'dry-run',
          dryRunOption('Print what would be pulled or loaded, without asking a registry'),
        )
        .example('berth images pull', 'Pull the images of all profiles, as berth-images.timer does')
        .example('berth images pull --from-archive site.tar', 'Load images without a registry')
        .epilogue(
          'Sessions are not interrupted. An image that is named by its digest and is in the store is not pulled again. Exit status: the highest exit status of all images.',
        ),
    handler: (args) => pull(args, terminal),
  };
}

async function pull(args: PullArguments, terminal: Terminal): Promise<void> {
  assertRoot();
  const { image: named = [], 'from-archive': archive, timeout } = args;
  const [
    { planPull, pullImages },
    { loadArchive, planLoad },
    { wantedImages },
    { readImageArchive },
  ] = await Promise.all([
    import('../../images/pull-images.ts'),
    import('../../images/load-archive.ts'),
    import('../../images/wanted-images.ts'),
    import('../../images/image-archive.ts'),
  ]);
  const timeoutMs = parseSeconds(timeout, 'timeout') * 1000;
  const site = await imageSettings(args);
  const wanted = wantedImages(site.profiles);
  const images = named.length > 0 ? named : wanted.map(({ image }) => image);
  await assertReferences(images);
  const authFile = args['auth-file'] ?? site.registryAuth;
  const options = {
    env: terminal.env,
    timeoutMs,
    ...(authFile === undefined ? {} : { authFile: resolve(authFile) }),
  };
  if (archive !== undefined && named.length > 1)
    throw usageError(helpOf, '--from-archive takes one IMAGE, or none');
  // Podman tries all formats, and its message has an error for each.
  const found = archive === undefined ? undefined : await readImageArchive(resolve(archive));
  if (args['dry-run']) {
    reportPlan(
      found === undefined ? planPull(site, images) : planLoad(found, named),
      args.output,
      terminal,
    );
    reportErrors(terminal, site.broken.values());
    return;
  }
  if (archive === undefined && options.authFile !== undefined) {
    const { assertRegistryAuth } = await import('../../images/pull-images.ts');
    assertRegistryAuth(options.authFile);
  }
  let current = archive ?? '';
  const outcomes = await withProgress(
    terminal,
    () => current && `pulling ${current}`,
    async () => {
      if (found === undefined)
        return pullImages(site, images, { ...options, begins: (image) => (current = image) });
      const [image] = named;
      const confirm = (moves: readonly NameMove[]): Promise<boolean> => {
        current = '';
        return confirmMoves(moves, args.yes, terminal);
      };
      const source = { file: found.file, image };
      return loadArchive(site, source, wanted, { ...options, confirm });
    },
  );
  reportPull(outcomes, args.output, terminal);
  reportErrors(terminal, site.broken.values());
}

/** Refuses transports (`dir:`, `docker-archive:`) and options. */
async function assertReferences(images: readonly string[]): Promise<void> {
  const { imageProblem } = await import('../../config/schema/profile/image-reference.ts');
  for (const image of images) {
    const problem = imageProblem(image);
    if (problem !== undefined) throw usageError(helpOf, `${image} ${problem}`);
  }
}
