import type { CommandModule } from 'yargs';
import { commandGroup } from '../kit/command-group.ts';
import { assertRoot } from '../../system/as-user.ts';
import { parseSeconds } from '../kit/duration.ts';
import { type ImagesArguments, imageSettings, imagesOptions } from './images-options.ts';
import { listCommand } from './list.ts';
import { pullCommand } from './pull.ts';
import { outputDirectory } from '../kit/output-path.ts';
import { withProgress } from '../kit/progress.ts';
import { dryRunOption } from '../kit/report-options.ts';
import { type Terminal, writeIdle } from '../kit/terminal.ts';

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
    listCommand(terminal),
    pullCommand(terminal),
    checkCommand(terminal),
    gcCommand(terminal),
    filesCommand(terminal),
  ]);
}

function checkCommand(terminal: Terminal): CommandModule<object, ImagesArguments> {
  return {
    command: 'check',
    describe:
      'Check that each image is stored, complete, of the right digest and readable by users',
    builder: (yargs) =>
      imagesOptions(yargs)
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
      imagesOptions(yargs)
        .option('grace', {
          type: 'string',
          requiresArg: true,
          default: '7d',
          describe: 'How long to keep an image after the last profile that named it',
        })
        .option('dry-run', dryRunOption('Print what would be removed, and remove nothing'))
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
      const { installTransferTools } = await import('../../images/copy-transfer-tools.ts');
      const to = outputDirectory('--to', args.to);
      const { directory, changed, removed } = await installTransferTools(to);
      const what = [...changed, ...removed.map((name) => `${name} (removed)`)].join(', ');
      if (what === '') writeIdle(`${directory}: nothing to do`, false, terminal);
      else terminal.stdout.write(`${directory}: ${what}\n`);
    },
  };
}

async function check(args: ImagesArguments, terminal: Terminal): Promise<void> {
  const [{ checkImages }, { doctorJson, doctorText }, { wantsColour, wantsUnicode }] =
    await Promise.all([
      import('../../images/check-images.ts'),
      import('../kit/check-report.ts'),
      import('../kit/terminal.ts'),
    ]);
  const results = checkImages(await imageSettings(args));
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
    import('../../images/collect-garbage.ts'),
    import('./gc-report.ts'),
  ]);
  const options = {
    graceSeconds: parseSeconds(args.grace, 'grace', { least: '0s', most: '3650d' }),
    dryRun: args['dry-run'],
    now: Math.floor(terminal.now() / 1000),
    timeoutMs: parseSeconds(args.timeout, 'timeout') * 1000,
    env: terminal.env,
  };
  const site = await imageSettings(args);
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
