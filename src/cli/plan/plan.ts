import { command } from '../kit/command.ts';
import { type ArgumentsOf, flag, number, outputOption, text } from '../kit/options.ts';
import { checkPort } from '../kit/output-path.ts';
import { siteFilesOf, siteOptions } from '../kit/site-options.ts';
import type { Terminal } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';

const options = {
  ...siteOptions,
  user: text('user', 'Login name', { demandOption: true }),
  cluster: text('cluster', 'Only this cluster'),
  output: outputOption,
  ssh: flag('Plan an SSH session instead of a portal login'),
  profile: text('profile', 'Profile, as in `login --profile` in sshd_config'),
  command: text('COMMAND', 'Command of the client [default: a shell]'),
  tty: flag('With a terminal, like ssh -t'),
  port: number('PORT', 'Port of sshd, for rules with ports'),
};

type PlanArguments = ArgumentsOf<typeof options>;

/** `berth plan`: compares what a login would write with the clusters and the home as they are. */
export const planCommand = command({
  command: 'plan',
  describe: 'Print what a login of a user would change',
  options,
  needs: { '--profile': '--ssh', '--command': '--ssh', '--tty': '--ssh', '--port': '--ssh' },
  without: { '--cluster': ['--ssh'] },
  examples: [
    ['berth plan --user alice', 'Print a diff for all clusters and the kubeconfig'],
    ['berth plan --user alice --cluster prod -o json', 'Print JSON for one cluster'],
    [
      'berth plan --ssh --user alice --command "squeue"',
      'Print the command lines of an SSH session',
    ],
  ],
  epilogue:
    'Exit status, as with kubectl diff: 0 no changes, 1 changes, more than 1 an error. With --ssh: 0 a session would start, 77 the user is refused, 78 the profile has a mistake, 69 a login would fail now. Nothing is changed.',
  run: (args, terminal) => (args.ssh ? planSsh(args, terminal) : plan(args, terminal)),
});

async function plan(args: PlanArguments, terminal: Terminal): Promise<number> {
  const { user, cluster, output } = args;
  const { planPrePunHook } = await import('../../portal/plan-pre-pun-hook.ts');
  const { writePlan } = await import('./plan-text.ts');
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
  return writePlan(sections, output, terminal);
}

/** Time limit of each check of the host, in milliseconds. */
const checkTimeoutMs = 5_000;

async function planSsh(args: PlanArguments, terminal: Terminal): Promise<number> {
  const { user, profile, command, tty, port, output } = args;
  const { Checks } = await import('../../diagnose/doctor/checks.ts');
  const { checkPodman } = await import('../../diagnose/doctor/ssh-checks.ts');
  const { planSession } = await import('../../login/open/plan-session.ts');
  const { writeSessionPlan } = await import('./session-plan-text.ts');
  const { lookupUser } = await import('../../system/identity/nss.ts');
  const { userAccessFinding } = await import('../../diagnose/doctor/ssh-user-checks.ts');
  const { runCheck } = await import('../../system/run-check.ts');
  const plan = await planSession({
    username: user,
    tty,
    toolsDir: terminal.toolsDir,
    check: (settings, account) => checkPodman(settings, account, new Checks(checkTimeoutMs)),
    files: await siteFilesOf(args),
    profile,
    command,
    ...(port !== undefined && { port: checkPort(port) }),
  });
  const account = lookupUser(user, { minimumUid: 1 });
  const run = () => userAccessFinding(account, port);
  const access = await runCheck('user-access', run, checkTimeoutMs);
  const obstacles = [...(access.status === 'failed' ? [access] : []), ...plan.obstacles];
  return writeSessionPlan(
    plan.outcome === 'refused' ? plan : { ...plan, obstacles },
    output,
    terminal,
  );
}
