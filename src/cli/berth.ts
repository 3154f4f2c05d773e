import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import yargs from 'yargs';
import packageJson from '../../package.json' with { type: 'json' };
import { packagedVersion } from '../build-id.ts';
import { asBerthError, BerthError } from '../errors.ts';
import { exitNow } from '../system/exit-now.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { lintCommand } from './lint.ts';
import { initCommand } from './init.ts';
import { imagesCommand } from './images.ts';
import { ldapSyncCommand } from './ldap-sync.ts';
import { nodeCommand } from './node.ts';
import { planCommand } from './plan.ts';
import { reapCommand } from './reap.ts';
import { renderCommand } from './render.ts';
import { sessionsCommand } from './sessions.ts';
import { sshdCommand } from './sshd.ts';
import { subidCommand } from './subid.ts';
import { reportError, type Terminal } from './terminal.ts';
import { textOutputs } from './text-outputs.ts';
import { tokenCommand } from './token.ts';
import { usageText } from './usage-text.ts';

/** The command line of the admin. The code of a command is loaded when it runs. */
async function main(args: readonly string[], terminal: Terminal): Promise<void> {
  const parser = yargs()
    .scriptName('berth')
    .usage('Usage: berth COMMAND [OPTIONS]')
    .locale('en')
    .parserConfiguration({ 'duplicate-arguments-array': false, 'boolean-negation': false })
    .command(initCommand(terminal))
    .command(planCommand(terminal))
    .command(renderCommand(terminal))
    .command(doctorCommand(terminal))
    .command(explainCommand(terminal))
    .command(lintCommand(terminal))
    .command(sshdCommand(terminal))
    .command(tokenCommand(terminal))
    .command(subidCommand(terminal))
    .command(imagesCommand(terminal))
    .command(reapCommand(terminal))
    .command(sessionsCommand(terminal))
    .command(nodeCommand(terminal))
    .command(ldapSyncCommand(terminal))
    .demandCommand(1, 1, 'a command is missing')
    .strict()
    .strictCommands()
    .recommendCommands()
    .example('berth doctor', 'Check the site, and print what to do')
    .example('berth plan --user alice', 'Print what the next login of alice would change')
    .example('berth render --user alice', 'Print the objects of alice without a cluster')
    .example('berth token rotate', "Renew the hook's token on all clusters")
    .version(terminal.version)
    .help()
    .wrap(100)
    .epilogue(
      'Each error has a code in brackets; `berth explain CODE` explains what happened, why, and what to do. Exit status: 0 success; 64 wrong command line, 69 unavailable, 74 input or output, 75 try again, 77 not permitted, 78 configuration (sysexits(3)); 141 standard output was closed early, for example by `| head`.',
    )
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message: string | null, error: Error | undefined) => {
      throw error ?? refused(parser, message ?? 'wrong command line', args);
    });
  try {
    await parser.parseAsync(args, {}, (_error, _argv, output) => {
      // Only help and version; errors go to fail().
      if (output !== '') terminal.stdout.write(`${output}\n`);
    });
  } catch (thrown) {
    reportError(
      terminal,
      isYargsError(thrown) ? refused(parser, thrown.message, args) : asBerthError(thrown, 'berth'),
    );
  }
}

/** Errors that yargs throws without `fail()`: of `.check()` or a missing argument. */
function isYargsError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'YError';
}

/** What yargs knows of the command that was being read, which its types leave out. */
interface ParserState {
  readonly getOptions: () => { readonly key: Readonly<Record<string, unknown>> };
  readonly getInternalMethods: () => {
    readonly getContext: () => { readonly commands: readonly string[] };
  };
}

function refused(parser: unknown, message: string, args: readonly string[]): BerthError {
  const { getOptions, getInternalMethods } = parser as ParserState;
  const options = Object.keys(getOptions.call(parser).key);
  const { commands } = getInternalMethods.call(parser).getContext();
  return new BerthError(usageText({ message, args, options }), {
    code: 'usage',
    hint: `See \`${['berth', ...commands].join(' ')} --help\`.`,
  });
}

const outputs = textOutputs();
// /usr/local/sbin/berth is a symlink into the prefix.
const program = realpathSync(process.argv[1] ?? '/');
let status = 0;
const finish = (wanted: number): void => {
  status = Math.max(status, wanted);
  process.exitCode = status;
};
void main(process.argv.slice(2), {
  // The only place in src/ that reads the environment.
  // eslint-disable-next-line no-restricted-properties
  env: process.env,
  stdout: outputs.stdout,
  stderr: outputs.stderr,
  stdinIsTTY: isatty(0),
  version: packagedVersion ?? packageJson.version,
  program,
  toolsDir: join(dirname(program), 'files'),
  now: Date.now,
  finish,
}).finally(async () => {
  finish(await outputs.finished());
  // A thread that waits for a dead file server would keep the process running.
  if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) exitNow(status);
});
