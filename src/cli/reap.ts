import { runDir } from '../config/schema/default-settings.ts';
import { countText } from '../system/text/count-text.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import { escapedForTerminal, lineLogger } from '../log.ts';
import type { ReapReport } from '../login/cleanup/reap-sessions.ts';
import { EventSpool } from '../system/event-spool.ts';
import { command } from './kit/command.ts';
import { type ArgumentsOf, flag, text, textfileOption } from './kit/options.ts';
import { optionalOutputFile } from './kit/output-path.ts';
import { reapProcess } from './kit/reap-process.ts';
import { loadSsh, configDirOption } from './kit/site-options.ts';
import { type Terminal, errorText, writeIdle } from './kit/terminal.ts';

const options = {
  ...configDirOption,
  'dry-run': flag('Print what would be ended, and end nothing'),
  unused: flag(
    'Also end the containers of users without a connection, before their grace or duration is over',
  ),
  /** Internal: the UIDs that this child process cleans up for. */
  turns: text('UID', '', { hidden: true }),
  /** Internal: it cleans up for one after the other. */
  alone: flag('', { hidden: true }),
  textfile: textfileOption,
};

/** `berth reap`: ends what SSH connections left behind. */
export const reapCommand = command({
  command: 'reap',
  describe: 'Clean up after closed SSH connections on this login node',
  options,
  without: { '--textfile': ['--dry-run'] },
  examples: [
    ['berth reap', 'Clean up on this login node, as berth-reap.timer does'],
    ['berth reap --dry-run', 'Print what the next run would end'],
    ['berth reap --unused', 'Before Berth is removed: end what only waits for its user'],
  ],
  epilogue:
    'Exit status: 0 everything was cleaned up; 75 something could not be cleaned up, and the next run tries again. If another run is active, this one does nothing. `berth clusters reap` deletes expired pods and unused namespaces.',
  run: reap,
});

async function reap(
  args: ArgumentsOf<typeof options>,
  terminal: Terminal,
): Promise<number | undefined> {
  const { reapSessions } = await import('../login/cleanup/reap-sessions.ts');
  const { assertRoot } = await import('../system/as-user.ts');
  assertRoot();
  const textfile = optionalOutputFile('--textfile', args.textfile);
  const settings = await loadSsh(args);
  const run = runDir;
  const spool = new EventSpool('reap');
  const log = lineLogger((line) => terminal.stderr.write(`${line}\n`), {}, spool.observe);
  const site = { settings, run, log, spool, now: terminal.now, endsUnused: args.unused };
  const dryRun = args['dry-run'];
  if (args.turns !== undefined) {
    const { reapEach } = await import('../login/cleanup/reap-in-turn.ts');
    const tell = (line: string): void => void terminal.stdout.write(line);
    const uids = args.turns.split(',').map(Number);
    await reapEach(site, uids, { dryRun, alone: args.alone, tell });
    return 0;
  }
  const more = [...(dryRun ? ['--dry-run'] : []), ...(args.unused ? ['--unused'] : [])];
  const start = await reapProcess(args, terminal, more);
  const report = await reapSessions(site, { dryRun, timeoutMs: 0, start });
  const text = reapText(report, dryRun);
  terminal.stdout.write(text);
  if (text === '' && report.failed.length === 0) writeIdle('nothing to clean up', dryRun, terminal);
  if (textfile !== undefined && !dryRun && !report.busy) {
    const { writeReapMetrics } = await import('../login/cleanup/reap-metrics.ts');
    await writeReapMetrics(textfile, report, { run, seconds: terminal.now() / 1000 });
  }
  for (const error of report.failed) terminal.stderr.write(errorText(error));
  // Exit status 75 whatever failed: the next run tries again.
  return report.failed.length > 0
    ? new BerthError('reap-incomplete', '', { cause: report.failed }).exitCode
    : 0;
}

/** A line for each connection and container that was ended. */
function reapText(report: ReapReport, dryRun: boolean): string {
  if (report.busy) return 'another reaper is running; nothing was done\n';
  const did = dryRun ? 'would end' : 'ended';
  const lines = [
    ...report.connections.map(
      ({ user, id }) => `${did} connection ${id} of ${escapedForTerminal(user)}`,
    ),
    ...report.containers.map(
      ({ user, name }) =>
        `${did} container ${escapedForTerminal(name)} of ${escapedForTerminal(user)}`,
    ),
    ...report.services.map(
      ({ uid, unit, processes }) =>
        `UID ${uid} runs ${escapedForTerminal(unit)} on this host, in systemd's manager of the user (${countText(processes, 'process')}); it was not ended: see berth sshd lint, then loginctl terminate-user ${uid}`,
    ),
    ...report.ownerless.map((uid) => `UID ${uid} has storage but no account: nothing was removed`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
