import type { ReapClusterOptions, ReapedCluster } from '../../clusters/reap/reap-cluster.ts';
import { countText } from '../../system/text/count-text.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { escapedForTerminal } from '../../log.ts';
import { command } from '../kit/command.ts';
import {
  type ArgumentsOf,
  flag,
  inClusterOption,
  number,
  text,
  textfileOption,
} from '../kit/options.ts';
import { optionalOutputFile } from '../kit/output-path.ts';
import { clusterTargets, siteOptions } from '../kit/site-options.ts';
import { type Terminal, errorText, writeIdle } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';

const helpOf = 'berth clusters reap';

const options = {
  ...siteOptions,
  cluster: text('cluster', 'Only this cluster [default: all of clusters.d]'),
  'all-clusters': flag('', { hidden: true }),
  'in-cluster': inClusterOption,
  'namespace-selector': text('SELECTOR', 'Label selector of the namespaces to check', {
    default: 'app.kubernetes.io/name=open-ondemand',
  }),
  'pod-selector': text(
    'SELECTOR',
    'Label selector of the pods to delete [default: all pods with a lifetime]',
  ),
  'max-pods': number('COUNT', 'Most pods to delete in one run; 0 for no limit', { default: 30 }),
  'unused-after': text('TIME', 'Delete namespaces without use for this time, such as 60d'),
  'last-used-threshold': text(
    'TIME',
    'Another time since the last login [default: that of --unused-after]',
  ),
  'namespace-regexp': text(
    'PATTERN',
    'Delete only namespaces whose whole name matches, such as user-.+',
  ),
  'max-namespaces': number(
    'COUNT',
    'Most namespaces to delete in one run; 0 for no limit [default: 10]',
  ),
  'delete-claims': flag('Also delete namespaces with PersistentVolumeClaims'),
  prometheus: text('URL', 'Also query this Prometheus for recent pods'),
  'prometheus-matchers': text(
    'MATCHERS',
    'Matchers for a Prometheus with several clusters: cluster="prod"',
  ),
  timeout: text('TIME', 'Time limit for all clusters together', { default: '5m' }),
  'dry-run': flag('Print what would be deleted, and delete nothing'),
  textfile: textfileOption,
};

type ReapArguments = ArgumentsOf<typeof options>;

/** `berth clusters reap`: deletes expired pods and unused namespaces. */
export const clustersReapCommand = command({
  command: 'reap',
  describe: 'Delete expired pods, and namespaces that nobody uses any more',
  options,
  needs: {
    '--max-namespaces': '--unused-after',
    '--delete-claims': '--unused-after',
    '--last-used-threshold': '--unused-after',
    '--namespace-regexp': '--unused-after',
    '--prometheus': '--unused-after',
    '--prometheus-matchers': '--prometheus',
  },
  without: {
    '--in-cluster': ['--cluster', '--all-clusters', '--config', '--config-dir'],
    '--cluster': ['--all-clusters'],
    '--textfile': ['--dry-run'],
  },
  examples: [
    [
      'berth clusters reap --config /etc/berth/reaper.yml --dry-run',
      'Print what the next run would delete',
    ],
    [
      'berth clusters reap --config /etc/berth/reaper.yml --unused-after 60d',
      'Delete expired pods, and namespaces unused for 60 days',
    ],
  ],
  epilogue:
    'Exit status: 0 everything was deleted; 75 something is left, and the next run tries again; 69, 77 or 78 (sysexits(3)) a cluster could not be checked. If another run is active, this one does nothing. It needs the token of an account with the rights of etc/kubernetes/reaper: the hook of a portal has fewer.',
  run: reapClusters,
});

async function reapClusters(args: ReapArguments, terminal: Terminal): Promise<void> {
  const { reapCluster } = await import('../../clusters/reap/reap-cluster.ts');
  const { deadlineIn } = await import('../../system/deadline.ts');
  const { keepHeapSmall } = await import('../../system/keep-heap-small.ts');
  keepHeapSmall();
  const targets = await clusterTargets(args, terminal);
  if (args.prometheus !== undefined && targets.length !== 1)
    throw usageError(helpOf, '--prometheus needs a single cluster: name it with --cluster');
  const after = args['unused-after'];
  const podSelector = args['pod-selector'];
  const textfile = optionalOutputFile('--textfile', args.textfile);
  const dryRun = args['dry-run'];
  const timeoutMs = parseSeconds(args.timeout, 'timeout') * 1000;
  const options: ReapClusterOptions = {
    dryRun,
    namespaceSelector: args['namespace-selector'],
    podSelector,
    maxPods: limit(args['max-pods'], 'max-pods'),
    ...(after !== undefined && {
      unused: {
        after: parseSeconds(after, 'unused-after', unusedFor),
        max: limit(args['max-namespaces'] ?? 10, 'max-namespaces'),
        deleteClaims: args['delete-claims'],
        ...lastLoginOf(args),
        ...namesOf(args),
        ...prometheusOf(args),
      },
    }),
    deadline: deadlineIn(timeoutMs).signal,
    lastDeletion: deadlineIn(timeoutMs * deletingShare).signal,
  };
  const reaped = await withProgress(
    terminal,
    () => `waiting for ${targets.map(({ name }) => name).join(', ')}`,
    () => Promise.all(targets.map((target) => reapCluster(target, options))),
  );
  const text = reapedText(reaped, dryRun);
  terminal.stdout.write(text);
  if (text === '' && reaped.every(({ failed }) => failed.length === 0))
    writeIdle('nothing to clean up', dryRun, terminal);
  if (textfile !== undefined && !dryRun) {
    const { writeClusterReapMetrics } = await import('../../clusters/reap/cluster-reap-metrics.ts');
    await writeClusterReapMetrics(textfile, reaped, terminal.now() / 1000);
  }
  for (const error of reaped.flatMap(({ failed }) => failed)) {
    terminal.stderr.write(errorText(error));
    terminal.finish(error.exitCode);
  }
}

function prometheusOf({
  prometheus: url,
  'prometheus-matchers': matchers = '',
}: ReapArguments): Pick<NonNullable<ReapClusterOptions['unused']>, 'prometheus'> {
  if (url === undefined) return {};
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usageError(helpOf, `--prometheus ${url}: must be an http or https address`);
  return { prometheus: { url, matchers, timeoutMs: 30_000 } };
}

function lastLoginOf({ 'last-used-threshold': text }: ReapArguments): {
  readonly lastLogin?: number;
} {
  if (text === undefined) return {};
  return { lastLogin: parseSeconds(text, 'last-used-threshold', unusedFor) };
}

/** The whole name must match, as in Prometheus: with a part of it, `user-.+` would match `no-user-x`. */
function namesOf({ 'namespace-regexp': text }: ReapArguments): { readonly names?: RegExp } {
  if (text === undefined) return {};
  try {
    return { names: new RegExp(`^(?:${text})$`) };
  } catch {
    throw usageError(
      helpOf,
      `--namespace-regexp ${text}: must be a regular expression, such as user-.+`,
    );
  }
}

/** The rest of the time is for the deletions that were begun, and for giving back the lease. */
const deletingShare = 0.9;

/** A mistyped number must not delete everything on a cluster. */
const unusedFor = { least: '1h', most: '3650d' };

function limit(count: number, option: string): number {
  if (Number.isInteger(count) && count >= 0) return count;
  throw usageError(helpOf, `--${option}: must be a number from 0 (no limit)`);
}

/** A line for each deleted object, and for each that was kept, with the reason. */
function reapedText(reaped: readonly ReapedCluster[], dryRun: boolean): string {
  const did = dryRun ? 'would end' : 'ended';
  const deleted = dryRun ? 'would delete' : 'deleted';
  const lines = reaped.flatMap(({ cluster, busy, pods, namespaces }) =>
    [
      ...(busy ? ['another reaper is running; nothing was done'] : []),
      ...pods.expired.map(
        ({ namespace, name, lifetime, again, gracePeriodSeconds }) =>
          `${did} pod ${namespace}/${name}, lifetime ${lifetime}${again ? ` (deleted before; grace period now ${gracePeriodSeconds} s)` : ''}`,
      ),
      ...pods.stuck.map(
        ({ namespace, first, count, finalizers }) =>
          `pod ${namespace}/${first}${count === 1 ? '' : ` and ${count - 1} more`}: deleted but still exists (${finalizers ? 'finalizers hold it: see kubectl get pod -o yaml' : 'its node has not terminated it: check kubectl get nodes'})`,
      ),
      ...pods.orphaned.map(
        ({ namespace, job }) => `${deleted} leftover objects of job ${namespace}/${job}`,
      ),
      ...pods.unreadable.map(
        ({ namespace, name }) =>
          `pod ${namespace}/${name} has an invalid lifetime (not a duration)`,
      ),
      ...namespaces.deleted.map(
        ({ name, owner, unused }) =>
          `${deleted} namespace ${name} of ${owner}, unused for ${countText(Math.floor(unused / 86_400), 'day')}`,
      ),
      ...namespaces.left.map(({ name, reason }) => `kept namespace ${name}: ${reason}`),
      ...(pods.later + namespaces.later === 0
        ? []
        : [
            `left for the next run: ${countText(pods.later, 'pod')} (jobs included) and ${countText(namespaces.later, 'namespace')}`,
          ]),
    ].map((line) => `${cluster}: ${escapedForTerminal(line)}`),
  );
  return lines.map((line) => `${line}\n`).join('');
}
