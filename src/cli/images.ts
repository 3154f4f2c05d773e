import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import { commandGroup } from './command-group.ts';
import type { SshSettings } from '../config/profile/profile.ts';
import type { NameMove } from '../images/image-names.ts';
import { assertRoot } from '../system/as-user.ts';
import { parseSeconds } from './duration.ts';
import { confirmMoves, reportPull } from './images-pull-report.ts';
import { outputDirectory } from './output-path.ts';
import { withProgress } from './progress.ts';
import { outputOption } from './report-options.ts';
import { siteFilesOf, type SiteArguments, sshConfigOptions } from './site-options.ts';
import { reportError, type Terminal, writeIdle } from './terminal.ts';
import { usageError } from './usage-error.ts';

const helpOf = 'berth images pull';

interface ImagesArguments extends SiteArguments {
  readonly output: string;
}

interface PullArguments extends ImagesArguments {
  readonly image?: readonly string[] | undefined;
  readonly 'auth-file'?: string | undefined;
  readonly 'from-archive'?: string | undefined;
  readonly timeout: string;
  readonly yes: boolean;
}

interface GcArguments extends ImagesArguments {
  readonly grace: string;
  readonly 'dry-run': boolean;
  readonly timeout: string;
}

interface FilesArguments {
  readonly to: string;
}

/** `berth images …`: the images of sessions, in a store that all users read. */
export function imagesCommand(terminal: Terminal): CommandModule {
  return commandGroup('images', 'Manage the shared image store of sessions', [
    pullCommand(terminal),
    checkCommand(terminal),
    gcCommand(terminal),
    filesCommand(terminal),
  ]);
}

function commonOptions(yargs: Argv): Argv<ImagesArguments> {
  return yargs.options(sshConfigOptions).option('output', outputOption);
}

function pullCommand(terminal: Terminal): CommandModule<object, PullArguments> {
  return {
    command: 'pull [image..]',
    describe: 'Pull the images of all profiles, or the named ones, into the shared store',
    builder: (yargs) =>
      commonOptions(yargs)
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
        .example('berth images pull', 'Pull the images of all profiles, as berth-images.timer does')
        .example('berth images pull --from-archive site.tar', 'Load images without a registry')
        .epilogue(
          'Sessions are not interrupted. An image that is named by its digest and is in the store is not pulled again. Exit status: the highest exit status of all images.',
        ),
    handler: (args) => pull(args, terminal),
  };
}

function checkCommand(terminal: Terminal): CommandModule<object, ImagesArguments> {
  return {
    command: 'check',
    describe:
      'Check that each image is stored, complete, of the right digest and readable by users',
    builder: (yargs) =>
      commonOptions(yargs)
        .example(
          'berth images check -o json',
          'Print JSON for monitoring: .summary.failed, .checks[].image',
        )
        .epilogue(
          'Exit status: 0 no check failed, 1 a check failed, more than 1 it could not run (sysexits(3)). No registry is contacted, and nothing is changed.',
        ),
    handler: (args) => check(args, terminal),
  };
}

function gcCommand(terminal: Terminal): CommandModule<object, GcArguments> {
  return {
    command: 'gc',
    describe: 'Remove the images that no profile names and no container uses',
    builder: (yargs) =>
      commonOptions(yargs)
        .option('grace', {
          type: 'string',
          requiresArg: true,
          default: '7d',
          describe: 'How long to keep an image after the last profile that named it',
        })
        .option('dry-run', {
          type: 'boolean',
          default: false,
          describe: 'Print what would be removed, and remove nothing',
        })
        .option('timeout', {
          type: 'string',
          requiresArg: true,
          default: '10m',
          describe: 'Time limit of the whole run',
        })
        .example(
          'berth images gc --dry-run',
          'Print what would be removed, and why the rest is kept',
        )
        .epilogue('The images in use are read from the storage of users, STORAGE/users/*/storage.'),
    handler: (args) => gc(args, terminal),
  };
}

function filesCommand(terminal: Terminal): CommandModule<object, FilesArguments> {
  return {
    command: 'files',
    describe: "Copy this host's sftp-server and scp to a directory that every session can use",
    builder: (yargs) =>
      yargs
        .option('to', {
          type: 'string',
          requiresArg: true,
          default: terminal.toolsDir,
          describe: 'Directory to copy to; sessions have it as /run/berth/files',
        })
        .epilogue(
          'They are copied with their loader and libraries, so they run in any image. Run it again after an update of OpenSSH or the C library; berth-images.timer does.',
        ),
    handler: async (args) => {
      assertRoot();
      const { installTransferTools } = await import('../images/copy-transfer-tools.ts');
      const to = outputDirectory('--to', args.to);
      const { directory, changed, removed } = await installTransferTools(to);
      const what = [...changed, ...removed.map((name) => `${name} (removed)`)].join(', ');
      if (what === '') writeIdle(`${directory}: nothing to do`, false, terminal);
      else terminal.stdout.write(`${directory}: ${what}\n`);
    },
  };
}

async function pull(args: PullArguments, terminal: Terminal): Promise<void> {
  assertRoot();
  const { image: named = [], 'from-archive': archive, timeout } = args;
  const [{ pullImages }, { loadArchive }, { wantedImages }, { readImageArchive }] =
    await Promise.all([
      import('../images/pull-images.ts'),
      import('../images/load-archive.ts'),
      import('../images/wanted-images.ts'),
      import('../images/image-archive.ts'),
    ]);
  const timeoutMs = parseSeconds(timeout, 'timeout') * 1000;
  const site = await siteOf(args);
  const wanted = wantedImages(site.profiles);
  const images = named.length > 0 ? named : wanted.map(({ image }) => image);
  await assertReferences(images);
  const authFile = args['auth-file'] ?? site.registryAuth;
  const options = {
    env: terminal.env,
    timeoutMs,
    ...(authFile === undefined ? {} : { authFile: resolve(authFile) }),
  };
  let current = archive ?? '';
  const outcomes = await withProgress(
    terminal,
    () => current && `pulling ${current}`,
    async () => {
      if (archive === undefined)
        return pullImages(site, images, { ...options, begins: (image) => (current = image) });
      const [image, another] = named;
      if (another !== undefined)
        throw usageError(helpOf, '--from-archive takes one IMAGE, or none');
      const file = resolve(archive);
      // Podman tries all formats, and its message has an error for each.
      await readImageArchive(file);
      const confirm = (moves: readonly NameMove[]): Promise<boolean> => {
        current = '';
        return confirmMoves(moves, args.yes, terminal);
      };
      const source = { file, ...(image !== undefined && { image }) };
      return loadArchive(site, source, wanted, { ...options, confirm });
    },
  );
  if (outcomes.length === 0 && args.output === 'text')
    writeIdle('no profile names an image', false, terminal);
  reportPull(outcomes, args.output, terminal);
  for (const { error } of site.broken.values()) reportError(terminal, error);
}

async function check(args: ImagesArguments, terminal: Terminal): Promise<void> {
  const [{ checkImages }, { doctorJson, doctorText }, { wantsColour, wantsUnicode }] =
    await Promise.all([
      import('../images/check-images.ts'),
      import('./doctor-report.ts'),
      import('./terminal.ts'),
    ]);
  const results = checkImages(await siteOf(args));
  const style = {
    colour: wantsColour(terminal.stdout, terminal.env),
    unicode: wantsUnicode(terminal.env),
  };
  terminal.stdout.write(args.output === 'json' ? doctorJson(results) : doctorText(results, style));
  if (results.some(({ status }) => status === 'failed')) terminal.finish(1);
}

async function gc(args: GcArguments, terminal: Terminal): Promise<void> {
  assertRoot();
  const [{ collectImages }, { gcText, gcJson }] = await Promise.all([
    import('../images/collect-garbage.ts'),
    import('./images-gc-report.ts'),
  ]);
  const options = {
    graceSeconds: parseSeconds(args.grace, 'grace', { least: '0s', most: '3650d' }),
    dryRun: args['dry-run'],
    now: Math.floor(terminal.now() / 1000),
    timeoutMs: parseSeconds(args.timeout, 'timeout') * 1000,
    env: terminal.env,
  };
  const site = await siteOf(args);
  const result = await withProgress(
    terminal,
    () => 'looking for images in use',
    () => collectImages(site, options),
  );
  if (args.output === 'json') terminal.stdout.write(gcJson(result));
  else {
    const all = args['dry-run'] || terminal.stdout.isTTY === true;
    const text = gcText(result, { all, ...options });
    if (text === '') writeIdle('no image in the store', args['dry-run'], terminal);
    terminal.stdout.write(text);
  }
}

async function siteOf(args: ImagesArguments): Promise<SshSettings> {
  const { loadSshSettings } = await import('../settings/load-ssh-settings.ts');
  return await loadSshSettings(await siteFilesOf(args));
}

/** Refuses transports (`dir:`, `docker-archive:`) and options. */
async function assertReferences(images: readonly string[]): Promise<void> {
  const { imageProblem } = await import('../config/profile/image-reference.ts');
  for (const image of images) {
    const problem = imageProblem(image);
    if (problem !== undefined) throw usageError(helpOf, `${image} ${problem}`);
  }
}
