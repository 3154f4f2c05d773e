import { resolve } from 'node:path';
import type { Argv, CommandModule } from 'yargs';
import type { SshSettings } from '../config/profile/profile.ts';
import { asBerthError, BerthError } from '../errors.ts';
import type { PullOutcome } from '../images/pull.ts';
import { seconds } from './duration.ts';
import { withProgress } from './progress.ts';
import { outputOption } from './report-options.ts';
import { fail, type Terminal } from './terminal.ts';

interface ImagesArguments {
  readonly config?: string | undefined;
  readonly output: string;
}

interface PullArguments extends ImagesArguments {
  readonly image?: readonly string[] | undefined;
  readonly 'auth-file'?: string | undefined;
  readonly 'from-archive'?: string | undefined;
  readonly timeout: string;
}

interface GcArguments extends ImagesArguments {
  readonly grace: string;
  readonly 'dry-run': boolean;
  readonly timeout: string;
}

interface FilesArguments {
  readonly to: string;
}

/** `berth images …`: the images of the sessions, in one store that all users read. */
export function imagesCommand(terminal: Terminal): CommandModule {
  return {
    command: 'images',
    describe: 'Keep the images of the sessions in a store that all users share',
    builder: (yargs) =>
      yargs
        .command(pullCommand(terminal))
        .command(checkCommand(terminal))
        .command(gcCommand(terminal))
        .command(filesCommand(terminal))
        .demandCommand(1, 1, 'images: pull, check, gc or files?')
        .strict(),
    handler: () => undefined,
  };
}

function commonOptions<T>(yargs: Argv<T>): Argv<T & ImagesArguments> {
  return yargs
    .option('config', {
      type: 'string',
      requiresArg: true,
      describe: 'Profiles and folders of the sessions [default: /etc/berth/ssh.yml]',
    })
    .option('output', outputOption);
}

function pullCommand(terminal: Terminal): CommandModule<object, PullArguments> {
  return {
    command: 'pull [image..]',
    describe: 'Fetch the images of all profiles, or these, into the shared store',
    builder: (yargs) =>
      commonOptions(yargs)
        .positional('image', { type: 'string', array: true, describe: 'NAME[:TAG][@sha256:…]' })
        .option('auth-file', {
          type: 'string',
          requiresArg: true,
          describe: "Credentials for registries: docker's config.json or podman's auth.json",
        })
        .option('from-archive', {
          type: 'string',
          requiresArg: true,
          describe: 'Take them from a docker or OCI archive, and ask no registry',
        })
        .option('timeout', {
          type: 'string',
          requiresArg: true,
          default: '1h',
          describe: 'For all images together',
        })
        .conflicts('from-archive', 'auth-file')
        .example('berth images pull', 'What berth-images.timer does')
        .example('berth images pull --from-archive site.tar', 'Where there is no registry')
        .epilogue(
          'Users go on working while it runs. An image that is named by its digest and is in the store is not asked for. Exit status: that of the worst image.',
        ),
    handler: (args) => guarded(terminal, 'pull', () => pull(args, terminal)),
  };
}

function checkCommand(terminal: Terminal): CommandModule<object, ImagesArguments> {
  return {
    command: 'check',
    describe: 'Check that each image is there, whole, of the right digest and readable by users',
    builder: (yargs) =>
      commonOptions(yargs)
        .example('berth images check -o json', 'For monitoring: .summary.failed, .checks[].image')
        .epilogue(
          'Exit status: 0 nothing failed, 1 a check failed, more than 1 it could not run (sysexits(3)). No registry is asked, and nothing is changed.',
        ),
    handler: (args) => guarded(terminal, 'check', () => check(args, terminal)),
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
          describe: 'How long an image stays that no profile names any more',
        })
        .option('dry-run', { type: 'boolean', default: false, describe: 'Show it only' })
        .option('timeout', { type: 'string', requiresArg: true, default: '10m' })
        .example('berth images gc --dry-run', 'What would go, and why the rest stays')
        .epilogue(
          "Which containers use an image is read from the users' own stores, STORAGE/users/*/storage.",
        ),
    handler: (args) => guarded(terminal, 'gc', () => gc(args, terminal)),
  };
}

function filesCommand(terminal: Terminal): CommandModule<object, FilesArguments> {
  return {
    command: 'files',
    describe: "Copy the host's sftp-server and scp to where every session finds them",
    builder: (yargs) =>
      yargs
        .option('to', {
          type: 'string',
          requiresArg: true,
          default: terminal.filesFolder,
          describe: 'Mounted at /run/berth/files in each session',
        })
        .epilogue(
          'With their own loader and libraries: they run in an image that has none. To be repeated after an update of OpenSSH or the C library; berth-images.timer does.',
        ),
    handler: (args) =>
      guarded(terminal, 'files', async () => {
        assertRoot('files');
        const { installFiles } = await import('../images/transfer-tools.ts');
        const { folder, changed, removed } = await installFiles(resolve(args.to));
        const what = [...changed, ...removed.map((name) => `${name} (removed)`)].join(', ');
        if (what !== '' || terminal.stdout.isTTY === true)
          terminal.stdout.write(`${folder}: ${what === '' ? 'nothing to do' : what}\n`);
      }),
  };
}

async function guarded(terminal: Terminal, name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    fail(terminal, asBerthError(thrown, `berth images ${name}`));
  }
}

async function pull(args: PullArguments, terminal: Terminal): Promise<void> {
  assertRoot('pull');
  const { image: named = [], 'from-archive': archive, timeout } = args;
  const [{ loadArchive, pullImages }, { wantedImages }] = await Promise.all([
    import('../images/pull.ts'),
    import('../images/wanted-images.ts'),
  ]);
  const timeoutMs = seconds(timeout, 'timeout') * 1000;
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
    () => `fetching ${current}`,
    () => {
      if (archive === undefined)
        return pullImages(site, images, { ...options, begins: (image) => (current = image) });
      const [image, another] = named;
      if (another !== undefined) throw usage('--from-archive takes one IMAGE, or none');
      const source = { file: resolve(archive), ...(image === undefined ? {} : { image }) };
      return loadArchive(site, source, wanted, options);
    },
  );
  reportPull(outcomes, args.output, terminal);
  for (const { error } of site.broken.values()) fail(terminal, error);
}

function reportPull(outcomes: readonly PullOutcome[], output: string, terminal: Terminal): void {
  if (output === 'json') {
    const images = outcomes.map((outcome) =>
      'error' in outcome
        ? {
            image: outcome.image,
            error: { code: outcome.error.code, message: outcome.error.message },
          }
        : outcome,
    );
    terminal.stdout.write(`${JSON.stringify({ version: 1, images }, null, 2)}\n`);
  }
  for (const outcome of outcomes) {
    if ('error' in outcome) fail(terminal, outcome.error);
    else if (output === 'text' && terminal.stdout.isTTY === true)
      terminal.stdout.write(`${outcome.image}: ${outcome.did} (${outcome.id.slice(0, 12)})\n`);
  }
}

async function check(args: ImagesArguments, terminal: Terminal): Promise<void> {
  const [{ checkImages }, { doctorJson, doctorText }, { wantsColour, wantsUnicode }] =
    await Promise.all([
      import('../images/check.ts'),
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
  assertRoot('gc');
  const [{ collectImages }, { gcText, gcJson }] = await Promise.all([
    import('../images/gc.ts'),
    import('./images-gc-report.ts'),
  ]);
  const options = {
    graceSeconds: seconds(args.grace, 'grace', { least: '0s', most: '3650d' }),
    dryRun: args['dry-run'],
    now: Math.floor(terminal.now() / 1000),
    timeoutMs: seconds(args.timeout, 'timeout') * 1000,
    env: terminal.env,
  };
  const site = await siteOf(args);
  const result = await withProgress(
    terminal,
    () => 'looking what is used',
    () => collectImages(site, options),
  );
  if (args.output === 'json') terminal.stdout.write(gcJson(result));
  else {
    const all = args['dry-run'] || terminal.stdout.isTTY === true;
    terminal.stdout.write(gcText(result, { all, ...options }));
  }
}

async function siteOf({ config }: ImagesArguments): Promise<SshSettings> {
  const { loadSshSettings } = await import('../settings/load-ssh.ts');
  return await loadSshSettings(config === undefined ? {} : { configFile: resolve(config) });
}

/** A transport (`dir:`, `docker-archive:`) or an option is no image. */
async function assertReferences(images: readonly string[]): Promise<void> {
  const { imageProblem } = await import('../config/profile/image-reference.ts');
  for (const image of images) {
    const problem = imageProblem(image);
    if (problem !== undefined) throw usage(`${image} ${problem}`);
  }
}

function assertRoot(name: string): void {
  if (process.geteuid?.() === 0) return;
  throw new BerthError(`berth images ${name} needs root: the store is root's`, {
    code: 'not-root',
    exit: 'permission',
    hint: `Run \`sudo berth images ${name}\`.`,
  });
}

function usage(message: string): BerthError {
  return new BerthError(message, {
    code: 'usage',
    exit: 'usage',
    hint: 'See `berth images pull --help`.',
  });
}
