import type { CommandModule } from 'yargs';
import { seconds } from './duration.ts';
import { withProgress } from './progress.ts';
import { outputOption } from './report-options.ts';
import { siteOptions, type SiteArguments } from './site.ts';
import { type Terminal, wantsColour, wantsUnicode } from './terminal.ts';

interface DoctorArguments extends SiteArguments {
  readonly user?: string | undefined;
  readonly cluster?: string | undefined;
  readonly output: string;
  readonly timeout: string;
}

/** `berth doctor`: what is wrong with this site, and what to do about it. */
export function doctorCommand(terminal: Terminal): CommandModule<object, DoctorArguments> {
  return {
    command: 'doctor',
    describe: 'Check the configuration, the clusters, the identity provider and a user',
    builder: (yargs) =>
      siteOptions(yargs)
        .option('user', { type: 'string', requiresArg: true, describe: 'Check this account, too' })
        .option('cluster', { type: 'string', requiresArg: true, describe: 'This cluster only' })
        .option('timeout', {
          type: 'string',
          requiresArg: true,
          default: '5s',
          describe: 'For each check; all run at once',
        })
        .option('output', outputOption)
        .example('berth doctor', 'After a change of the configuration')
        .example('berth doctor --user alice', 'When alice says that it does not work')
        .example('berth doctor -o json', 'For monitoring: .summary.failed, .checks[].id')
        .epilogue(
          'Exit status: 0 nothing failed (there may be warnings), 1 a check failed, more than 1 doctor itself could not run (sysexits(3)). Nothing is changed anywhere.',
        ),
    handler: (args) => run(args, terminal),
  };
}

async function run(args: DoctorArguments, terminal: Terminal): Promise<void> {
  const timeoutMs = seconds(args.timeout, 'timeout') * 1000;
  const { doctor } = await import('../doctor/doctor.ts');
  const { doctorJson, doctorText } = await import('./doctor-report.ts');
  const { user, cluster, config } = args;
  const results = await withProgress(
    terminal,
    () => `checking, at most ${args.timeout} for each`,
    () =>
      doctor({
        files: config === undefined ? {} : { configFile: config },
        ...(user === undefined ? {} : { username: user }),
        ...(cluster === undefined ? {} : { cluster }),
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
