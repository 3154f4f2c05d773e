import { defaultConfigFile } from '../../config/schema/default-settings.ts';
import { countText } from '../../system/text/count-text.ts';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import { reportJson } from './documents.ts';
import type { LoadedSlurmSyncSettings } from './load-settings.ts';
import type { PlannedSync, SlurmSyncReport } from './sync-accounts.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import {
  type ArgumentsOf,
  flag,
  outputOption,
  text,
  textfileOption,
} from '../../cli/kit/options.ts';
import { optionalOutputFile } from '../../cli/kit/output-path.ts';
import { asker } from '../../cli/kit/questions.ts';
import { type Terminal, reportError, writeIdle } from '../../cli/kit/terminal.ts';
import { withProgress } from '../../cli/kit/progress.ts';

const options = {
  config: text('file', `Configuration file [default: ${defaultConfigFile}]`),
  'dry-run': flag('Print what would be done, and do nothing'),
  yes: flag('Do not ask before the first change, for a timer'),
  'accept-fewer': flag('Accept an answer with far fewer users or groups than the last one'),
  adopt: flag('Take over accounts made by hand that a * of a rule names'),
  timeout: text('TIME', 'Time limit for the LDAP server and slurmdbd together', { default: '1h' }),
  textfile: textfileOption,
  output: outputOption,
};

type SlurmSyncArguments = ArgumentsOf<typeof options>;

/** `berth slurm-sync`: makes the accounts of Slurm those of the directory's groups. */
export const slurmSyncCommand = command({
  ...companionCommands.slurmSync,
  options,
  without: { '--yes': ['--dry-run'], '--textfile': ['--dry-run'] },
  examples: [
    ['berth slurm-sync --dry-run', 'Print the commands of the next run'],
    ['berth slurm-sync', 'Print them, and ask before they are run'],
    ['berth slurm-sync --yes', 'Run them, as berth-slurm-sync.timer does'],
  ],
  epilogue:
    'Exit status: 0 done, or nothing to do; 1 the plan was not confirmed; 69, 75 or 78 (sysexits(3)) not done, and standard error has the reason. Nothing is deleted in Slurm, and an incomplete answer of the LDAP server changes nothing.',
  run: slurmSync,
});

async function slurmSync(args: SlurmSyncArguments, terminal: Terminal): Promise<void> {
  const started = terminal.now() / 1000;
  let report: SlurmSyncReport | undefined;
  let textfile: string | undefined;
  let cluster: string | undefined;
  try {
    textfile = optionalOutputFile('--textfile', args.textfile);
    const { loadSlurmSyncSettings } = await import('./load-settings.ts');
    const settings = loadSlurmSyncSettings(args.config ?? defaultConfigFile);
    ({ cluster } = settings.accounts);
    report = await run(args, settings, terminal);
    if (args.output === 'json') terminal.stdout.write(reportJson(report, args['dry-run']));
    else if (args['dry-run']) writePlan(report, terminal);
    else {
      if (args.yes) writeRemarks(report, terminal);
      writeDone(report, terminal);
    }
    const { commands, done, failed, error } = report;
    for (const one of failed) reportError(terminal, one);
    if (error !== undefined) reportError(terminal, error);
    else if (!args['dry-run'] && done === 0 && commands.length > 0 && failed.length === 0) {
      terminal.stderr.write(
        'nothing was changed: only --yes runs the commands without a question\n',
      );
      terminal.finish(1);
    }
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, 'berth slurm-sync'));
  }
  if (textfile === undefined) return;
  try {
    const { writeSlurmSyncMetrics } = await import('./slurm-sync-metrics.ts');
    const seconds = terminal.now() / 1000 - started;
    await writeSlurmSyncMetrics(textfile, cluster, report, { started, seconds });
  } catch (thrown) {
    reportError(terminal, asBerthError(thrown, 'berth slurm-sync: writing the metrics'));
  }
}

async function run(
  args: SlurmSyncArguments,
  settings: LoadedSlurmSyncSettings,
  terminal: Terminal,
): Promise<SlurmSyncReport> {
  const [{ planAccountSync, syncAccounts }, { deadlineIn }, { parseSeconds }] = await Promise.all([
    import('./sync-accounts.ts'),
    import('../../system/deadline.ts'),
    import('../../cli/kit/parse-seconds.ts'),
  ]);
  const asking = asker('berth slurm-sync', args, terminal);
  let waitingFor = 'connecting to the directory';
  const input = {
    ...settings,
    deadline: deadlineIn(parseSeconds(args.timeout, 'timeout') * 1000),
    acceptFewer: args['accept-fewer'],
    adopt: args.adopt,
    onProgress: (what: string) => {
      waitingFor = what;
    },
    approve: async (planned: PlannedSync) => {
      if (args.yes) return true;
      waitingFor = '';
      // A plan that nobody has seen is not confirmed.
      if (args.output === 'json') return false;
      writePlan(planned, terminal);
      return asking.confirm('Run these commands?');
    },
  };
  return withProgress(
    terminal,
    () => waitingFor,
    () => (args['dry-run'] ? planAccountSync(input) : syncAccounts(input)),
  );
}

/** The commands, as they can be run by hand, and what stays as it is. */
function writePlan(planned: PlannedSync, terminal: Terminal): void {
  const { url, people, commands } = planned;
  const read = `${countText(people.users.size, 'user')}, ${countText(people.groupNames.length, 'group')}`;
  terminal.stdout.write(`${escapedForTerminal(url)}: ${read}\n`);
  for (const args of commands)
    terminal.stdout.write(`sacctmgr -i ${escapedForTerminal(shellWords(args))}\n`);
  if (commands.length === 0) writeIdle('nothing to do', true, terminal);
  writeRemarks(planned, terminal);
}

/** How many remarks are printed; JSON has all. */
const mostRemarks = 20;

/** Who is left out, and what stays as it is. */
function writeRemarks({ people, plan, skipped }: PlannedSync, { stderr }: Terminal): void {
  const lines = [
    ...[...people.refused, ...skipped].map(
      ({ what, name, reason }) => `${what} ${name} is left out: ${reason}`,
    ),
    ...plan.kept.map(
      ({ account, user, reason }) => `${user} in account ${account} stays as it is: ${reason}`,
    ),
  ];
  const shown = lines.slice(0, mostRemarks);
  if (lines.length > shown.length)
    shown.push(`${lines.length - shown.length} more; -o json has all`);
  for (const line of shown) stderr.write(`berth: ${escapedForTerminal(line)}\n`);
}

function writeDone({ cluster, commands, done }: SlurmSyncReport, terminal: Terminal): void {
  if (commands.length === 0) writeIdle(`${cluster}: nothing to do`, false, terminal);
  else if (done > 0)
    terminal.stdout.write(`${cluster}: ${done} of ${countText(commands.length, 'command')} done\n`);
}
