import { spoolDir } from '../../system/event-spool.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, textfileOption } from '../kit/options.ts';
import { optionalOutputFile } from '../kit/output-path.ts';
import { siteOptions } from '../kit/site-options.ts';
import { reportError, type Terminal } from '../kit/terminal.ts';

const options = { ...siteOptions, textfile: textfileOption };

/** `berth metrics`: what Prometheus scrapes of this host. */
export const metricsCommand = command({
  command: 'metrics',
  describe: 'Print the metrics of this host for Prometheus',
  options,
  examples: [
    ['berth metrics', 'Print them'],
    [
      'berth metrics --textfile /var/lib/prometheus/node-exporter/berth-metrics.prom',
      'For node_exporter, as berth-metrics.timer does',
    ],
  ],
  epilogue:
    'The first run after a start of the host begins to count, at 0: enable berth-metrics.timer. If another run is active, this one does nothing. Exit status: 0 all metrics were read; otherwise some are missing, and standard error has the reason.',
  run: metrics,
});

async function metrics(args: ArgumentsOf<typeof options>, terminal: Terminal): Promise<void> {
  const { assertRoot } = await import('../../system/as-user.ts');
  const { tryLock } = await import('../../system/file-lock.ts');
  const { foldSpool } = await import('../../diagnose/metrics/fold-spool.ts');
  const { metricsText } = await import('../../diagnose/metrics/rules/totals.ts');
  const { hostGauges } = await import('./host-gauges.ts');
  const safe = await import('../../system/safe-directories.ts');
  assertRoot();
  const textfile = optionalOutputFile('--textfile', args.textfile);
  const now = terminal.now();
  const { gauges, errors } = await hostGauges(args, now);
  safe.ensureRootDirectory(spoolDir);
  const lock = await tryLock(`${spoolDir}/fold.lock`);
  if (lock === undefined) {
    terminal.stderr.write('berth: another `berth metrics` is running; nothing was done\n');
    return;
  }
  try {
    const { totals, isFull } = foldSpool(spoolDir, now);
    const text = metricsText(totals, {
      ...gauges,
      berth_metrics_spool_full: isFull ? 1 : 0,
      berth_metrics_last_run_timestamp_seconds: Math.floor(now / 1000),
      berth_build_info: new Map([[terminal.version, 1]]),
    });
    if (textfile === undefined) terminal.stdout.write(text);
    else {
      const { writeAtomically } = await import('../../system/atomic-file.ts');
      await writeAtomically(textfile, text, { mode: 0o644, replaceable: true });
    }
  } finally {
    await lock.release();
  }
  for (const error of errors) reportError(terminal, error);
}
