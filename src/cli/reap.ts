import type { CommandModule } from 'yargs';
import { countText } from '../count-text.ts';
import { runDir } from '../config/default-settings.ts';
import { asBerthError, BerthError } from '../errors.ts';
import type { ReapReport } from '../ssh/cleanup/reap-sessions.ts';
import { escapedForTerminal, logfmtLogger } from '../log.ts';
import type { ReapClusterArguments } from './reap-cluster-options.ts';
import { outputOption, textfileOption } from './report-options.ts';
import { errorText, reportError, type Terminal } from './terminal.ts';
import { documentText } from './json-document.ts';

interface ReapArguments extends ReapClusterArguments {
  /** Internal: the UIDs that this child process cleans up for. */
  readonly turns?: string | undefined;
}

/** `berth reap`: ends what SSH connections left behind; with a cluster, expired pods and namespaces. */
export function reapCommand(terminal: Terminal): CommandModule<object, ReapArguments> {
  return {
    command: 'reap',
    describe: 'Clean up after closed SSH connections, and delete what has expired',
    builder: (yargs) =>
      yargs
        .option('config', {
          type: 'string',
          requiresArg: true,
          describe:
            'Configuration: ssh.yml [default: /etc/berth/ssh.yml]; for clusters, berth.yml [default: /etc/berth/berth.yml]',
        })
        .options(clusterOptions)
        .option('dry-run', {
          type: 'boolean',
          default: false,
          describe: 'Print what would be ended, and end nothing',
        })
        .option('turns', { type: 'string', requiresArg: true, hidden: true })
        .option('textfile', textfileOption)
        .option('output', outputOption)
        .example('berth reap', 'Clean up on this login node, as berth-reap.timer does')
        .example('berth reap --dry-run', 'Print what the next run would end')
        .example(
          'berth reap --all-clusters --unused-after 60d',
          'Delete expired pods, and namespaces unused for 60 days',
        )
        .epilogue(
          'Exit status: 0 everything was cleaned up; 75 something could not be cleaned up, and the next run tries again. If another run is active, this one does nothing.',
        ),
    handler: async (args) => {
      const onClusters =
        args.cluster !== undefined || args['all-clusters'] === true || args['in-cluster'] === true;
      try {
        if (onClusters) {
          const { reapClusters } = await import('./reap-cluster-options.ts');
          await reapClusters(args, terminal);
        } else await reap(args, terminal);
      } catch (thrown) {
        reportError(terminal, asBerthError(thrown, 'berth reap'));
      }
    },
  };
}

const clusterOptions = {
  cluster: {
    type: 'string',
    requiresArg: true,
    describe: 'Delete expired pods and namespaces on this cluster',
  },
  'all-clusters': { type: 'boolean', describe: 'The same on all clusters of clusters.d' },
  'in-cluster': {
    type: 'boolean',
    conflicts: ['cluster', 'all-clusters'],
    describe: 'Run inside a pod: use its own cluster and its ServiceAccount',
  },
  'namespace-selector': {
    type: 'string',
    requiresArg: true,
    default: 'app.kubernetes.io/name=open-ondemand',
    describe: 'Clusters: label selector of the namespaces to check',
  },
  'pod-selector': {
    type: 'string',
    requiresArg: true,
    describe: 'Clusters: label selector of the pods to delete [default: all pods with a lifetime]',
  },
  'max-pods': {
    type: 'number',
    requiresArg: true,
    default: 30,
    describe: 'Clusters: most pods to delete in one run; 0 for no limit',
  },
  'unused-after': {
    type: 'string',
    requiresArg: true,
    describe: 'Clusters: delete namespaces without use for this time, such as 60d',
  },
  'last-used-threshold': {
    type: 'string',
    requiresArg: true,
    implies: 'unused-after',
    describe: 'Clusters: another time since the last login [default: that of --unused-after]',
  },
  'namespace-regexp': {
    type: 'string',
    requiresArg: true,
    implies: 'unused-after',
    describe: 'Clusters: delete only namespaces whose whole name matches, such as user-.+',
  },
  'max-namespaces': {
    type: 'number',
    requiresArg: true,
    default: 10,
    describe: 'Clusters: most namespaces to delete in one run; 0 for no limit',
  },
  'delete-claims': {
    type: 'boolean',
    implies: 'unused-after',
    describe: 'Clusters: also delete namespaces with PersistentVolumeClaims',
  },
  prometheus: {
    type: 'string',
    requiresArg: true,
    implies: 'unused-after',
    describe: 'Clusters: also query this Prometheus for recent pods',
  },
  'prometheus-matchers': {
    type: 'string',
    requiresArg: true,
    default: '',
    describe: 'Matchers for a Prometheus with several clusters: cluster="prod"',
  },
  timeout: {
    type: 'string',
    requiresArg: true,
    default: '5m',
    describe: 'Clusters: time limit for all clusters together',
  },
} as const;

async function reap(args: ReapArguments, terminal: Terminal): Promise<void> {
  const [{ reapSessions }, { loadSshSettings }, { assertRoot }] = await Promise.all([
    import('../ssh/cleanup/reap-sessions.ts'),
    import('../settings/load-ssh-settings.ts'),
    import('../system/as-user.ts'),
  ]);
  assertRoot();
  const settings = await loadSshSettings({ configFile: args.config ?? '/etc/berth/ssh.yml' });
  const run = runDir;
  const log = logfmtLogger((line) => terminal.stderr.write(`${line}\n`));
  const site = { settings, run, log, now: terminal.now };
  const dryRun = args['dry-run'];
  const { reapEach, reapProcessCommand } = await import('../ssh/cleanup/reap-in-turn.ts');
  if (args.turns !== undefined) {
    const tell = (line: string): void => void terminal.stdout.write(line);
    await reapEach(site, args.turns.split(',').map(Number), { dryRun, tell });
    return;
  }
  const start = reapProcessCommand(terminal.program, [
    ...['reap', ...(args.config === undefined ? [] : ['--config', args.config])],
    ...[...(dryRun ? ['--dry-run'] : []), '--turns'],
  ]);
  const report = await reapSessions(site, { dryRun, waitMs: 0, start });
  terminal.stdout.write(
    args.output === 'json' ? reapJson(report, dryRun) : reapText(report, dryRun),
  );
  if (args.textfile !== undefined && !dryRun && !report.busy) {
    const { writeReapMetrics } = await import('../ssh/cleanup/reap-metrics.ts');
    await writeReapMetrics(args.textfile, report, { run, seconds: terminal.now() / 1000 });
  }
  for (const error of report.failed) terminal.stderr.write(errorText(error));
  if (report.failed.length > 0) terminal.finish(exitCodeOf(report.failed));
}

/** Exit status 75 whatever failed: the next run tries again. */
function exitCodeOf(failed: readonly BerthError[]): number {
  return new BerthError('', { code: 'reap-incomplete', hint: '', cause: failed }).exitCode;
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
        `UID ${uid} runs ${escapedForTerminal(unit)} on this host, in systemd's manager of the user (${countText(processes, 'process')}); it was not ended: see berth lint sshd, then loginctl terminate-user ${uid}`,
    ),
    ...report.ownerless.map((uid) => `UID ${uid} has storage but no account: nothing was removed`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** The same as JSON, with stable names. */
function reapJson(report: ReapReport, dryRun: boolean): string {
  const { failed, ...rest } = report;
  const failures = failed.map(({ code, message, hint }) => ({
    ...{ code, message: escapedForTerminal(message), next: escapedForTerminal(hint) },
  }));
  return documentText('Reap', { dryRun, ...rest, failures });
}
