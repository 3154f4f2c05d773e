import type { CommandModule } from 'yargs';
import { withProgress } from '../kit/progress.ts';
import type { PlanFormat } from './plan-output.ts';
import { checkPort } from '../kit/port.ts';
import { siteFilesOf, siteOptions, type SiteArguments } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';

interface PlanArguments extends SiteArguments {
  readonly user: string;
  readonly cluster?: string | undefined;
  readonly output: string;
  readonly ssh?: boolean | undefined;
  readonly profile?: string | undefined;
  readonly command?: string | undefined;
  readonly tty?: boolean | undefined;
  readonly port?: number | undefined;
}

/** `berth plan`: compares what a login would write with the clusters and the home as they are. */
export function planCommand(terminal: Terminal): CommandModule<object, PlanArguments> {
  return {
    command: 'plan',
    describe: 'Print what a login of a user would change',
    builder: (yargs) =>
      siteOptions(yargs)
        .option('user', {
          type: 'string',
          demandOption: true,
          requiresArg: true,
          describe: 'Login name',
        })
        .option('cluster', {
          type: 'string',
          requiresArg: true,
          describe: 'Only this cluster',
        })
        .option('output', {
          alias: 'o',
          choices: ['text', 'yaml', 'json'],
          default: 'text',
        })
        .option('ssh', {
          type: 'boolean',
          describe: 'Plan an SSH session instead of a portal login',
        })
        .option('profile', {
          type: 'string',
          requiresArg: true,
          describe: 'Profile, as in `login --profile` in sshd_config',
        })
        .option('command', {
          type: 'string',
          requiresArg: true,
          describe: 'Command of the client [default: a shell]',
        })
        .option('tty', {
          type: 'boolean',
          describe: 'With a terminal, like ssh -t',
        })
        .option('port', {
          type: 'number',
          requiresArg: true,
          describe: 'Port of sshd, for rules with ports',
        })
        .example('berth plan --user alice', 'Print a diff for all clusters and the kubeconfig')
        .example('berth plan --user alice --cluster prod -o json', 'Print JSON for one cluster')
        .example(
          'berth plan --ssh --user alice --command "squeue"',
          'Print the command lines of an SSH session',
        )
        .epilogue(
          'Exit status, as with kubectl diff: 0 no changes, 1 changes, more than 1 an error. With --ssh: 0 a session would start, 77 the user is refused, 78 the profile has a mistake, 69 a login would fail now. Nothing is changed.',
        ),
    handler: (args) => (args.ssh === true ? planSsh(args, terminal) : plan(args, terminal)),
  };
}

async function plan(args: PlanArguments, terminal: Terminal): Promise<void> {
  const { user, cluster, output } = args;
  const [{ planPrePunHook }, { writePlan }] = await Promise.all([
    import('../../portal/plan-pre-pun-hook.ts'),
    import('./plan-output.ts'),
  ]);
  const files = await siteFilesOf(args);
  const sections = await withProgress(
    terminal,
    () => 'waiting for the clusters',
    () =>
      planPrePunHook({
        username: user,
        files,
        cluster,
        now: terminal.now() / 1000,
      }),
  );
  terminal.finish(writePlan(sections, output as PlanFormat, terminal));
}

/** Time limit of each check of the host, in milliseconds. */
const checkTimeoutMs = 5_000;

async function planSsh(args: PlanArguments, terminal: Terminal): Promise<void> {
  const { user, profile, command, tty = false, port, output } = args;
  // It named ssh.yml.
  if (args.config !== undefined)
    terminal.stderr.write('berth: --config is a former name with --ssh: use --config-dir\n');
  const [{ checkPodman }, { planSession }, { writeSessionPlan }] = await Promise.all([
    import('../../doctor/ssh-checks.ts'),
    import('../../ssh/open/plan-session.ts'),
    import('./session-plan-output.ts'),
  ]);
  const plan = await planSession({
    username: user,
    tty,
    toolsDir: terminal.toolsDir,
    check: (settings, account) => checkPodman(settings, account, checkTimeoutMs),
    files: await siteFilesOf(args),
    profile,
    command,
    ...(port === undefined ? {} : { port: checkPort(port) }),
  });
  terminal.finish(writeSessionPlan(plan, output as PlanFormat, terminal));
}
