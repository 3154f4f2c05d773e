import type { CommandModule } from 'yargs';
import { asBerthError } from '../errors.ts';
import { withProgress } from './progress.ts';
import type { PlanFormat } from './plan-output.ts';
import { siteOptions, type SiteArguments } from './site.ts';
import { fail, type Terminal } from './terminal.ts';

interface PlanArguments extends SiteArguments {
  readonly user: string;
  readonly cluster?: string | undefined;
  readonly output: string;
}

/** `berth plan`: what a login would change, asked of the live clusters and the live home. */
export function planCommand(terminal: Terminal): CommandModule<object, PlanArguments> {
  return {
    command: 'plan',
    describe: 'Show what a login of a user would change, and change nothing',
    builder: (yargs) =>
      siteOptions(yargs)
        .option('user', {
          type: 'string',
          demandOption: true,
          requiresArg: true,
          describe: 'Login name',
        })
        .option('cluster', { type: 'string', requiresArg: true, describe: 'Only this one' })
        .option('output', {
          alias: 'o',
          choices: ['text', 'yaml', 'json'],
          default: 'text',
        })
        .example('berth plan --user alice', 'a diff against every cluster and the kubeconfig')
        .example('berth plan --user alice --cluster prod -o json', 'one cluster, for a script')
        .epilogue(
          'Exit status: 0 nothing to do, 1 changes, more than 1 an error (as kubectl diff).',
        ),
    handler: async ({ user, cluster, config, output }) => {
      const [{ planLogin }, { writePlan }] = await Promise.all([
        import('../flows/plan-login.ts'),
        import('./plan-output.ts'),
      ]);
      try {
        const sections = await withProgress(
          terminal,
          () => 'asking the clusters',
          () =>
            planLogin({
              username: user,
              files: config === undefined ? {} : { configFile: config },
              ...(cluster === undefined ? {} : { cluster }),
              now: terminal.now() / 1000,
            }),
        );
        terminal.finish(writePlan(sections, output as PlanFormat, terminal));
      } catch (thrown) {
        fail(terminal, asBerthError(thrown, 'berth plan'));
      }
    },
  };
}
