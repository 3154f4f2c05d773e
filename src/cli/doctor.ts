import type { CommandModule } from 'yargs';
import { assertRoot } from '../system/as-user.ts';
import { parseSeconds } from './kit/duration.ts';
import { withProgress } from './kit/progress.ts';
import { outputOption } from './kit/report-options.ts';
import { siteOptions, type SiteArguments, overlayOf } from './kit/site-options.ts';
import { type Terminal, wantsColour, wantsUnicode } from './kit/terminal.ts';

interface DoctorArguments extends SiteArguments {
  readonly user?: string | undefined;
  readonly 'start-session': boolean;
  readonly cluster?: string | undefined;
  readonly output: string;
  readonly timeout: string;
}

/** `berth doctor`: checks the site, and prints what to do about each problem. */
export function doctorCommand(terminal: Terminal): CommandModule<object, DoctorArguments> {
  return {
    command: 'doctor',
    describe: 'Check the configuration, this host, the clusters, the identity provider and a user',
    builder: (yargs) =>
      siteOptions(yargs)
        .option('user', { type: 'string', requiresArg: true, describe: 'Also check this account' })
        .option('start-session', {
          type: 'boolean',
          default: false,
          describe:
            'Run `true` in a test session of the account, as a login would, and remove it; needs root and --user',
        })
        .option('cluster', { type: 'string', requiresArg: true, describe: 'Only this cluster' })
        .option('timeout', {
          type: 'string',
          requiresArg: true,
          default: '5s',
          describe: 'Time limit of each check; they run at the same time',
        })
        .option('output', outputOption)
        .example('berth doctor', 'Check the site, after a change of the configuration')
        .example('berth doctor --user alice', 'Also check the account, home and tokens of alice')
        .example(
          'berth doctor --user alice --start-session',
          'Also start a container or pod of alice, and remove it',
        )
        .example(
          'berth doctor --config-dir ./new',
          'Check a configuration before it is installed in /etc/berth',
        )
        .example('berth doctor -o json', 'Print JSON for monitoring: .summary.failed, .checks[].id')
        .epilogue(
          'Exit status: 0 no check failed (there may be warnings), 1 a check failed, more than 1 doctor could not run (sysexits(3)). Without --start-session, doctor changes nothing.',
        ),
    handler: (args) => run(args, terminal),
  };
}

async function run(args: DoctorArguments, terminal: Terminal): Promise<void> {
  const timeoutMs = parseSeconds(args.timeout, 'timeout') * 1000;
  const { runDoctor } = await import('../doctor/doctor.ts');
  const { doctorJson, doctorText } = await import('./kit/check-report.ts');
  const { user, cluster, config, 'start-session': startsSession } = args;
  if (startsSession) assertRoot();
  const overlay = await overlayOf(args);
  const results = await withProgress(
    terminal,
    () =>
      startsSession
        ? 'checking, and starting a session'
        : `checking, at most ${args.timeout} for each`,
    () =>
      runDoctor({
        files: config === undefined ? {} : { configFile: config },
        overlay,
        username: user,
        cluster,
        ...(startsSession ? { sessionProgram: terminal.program } : {}),
        nodeVersion: process.versions.node,
        uid: process.geteuid?.() ?? 0,
        now: terminal.now() / 1000,
        timeoutMs,
      }),
  );
  const style = {
    colour: wantsColour(terminal.stdout, terminal.env),
    unicode: wantsUnicode(terminal.env),
  };
  terminal.stdout.write(args.output === 'json' ? doctorJson(results) : doctorText(results, style));
  if (results.some(({ status }) => status === 'failed')) terminal.finish(1);
}
