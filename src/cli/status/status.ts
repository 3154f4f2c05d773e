import { command } from '../kit/command.ts';
import { outputOption } from '../kit/options.ts';
import { documentText } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';

/** `berth status`: what is configured, runs and needs a look on this host, in a second. */
export const statusCommand = command({
  command: 'status',
  describe: 'Show this host on one screen: configuration, clusters, timers, sessions, images',
  options: { output: outputOption },
  examples: [
    ['berth status', 'Is everything all right on this host?'],
    ['berth status -o json', 'Print JSON: .ok, .clusters[].status, .timers[].lastRun'],
  ],
  epilogue:
    'Clusters are asked at the same time, for half a second at most. The checks are those of `berth doctor` that take no time; the files of images are not compared (`berth images check` does). As another user than root it leaves parts out, and names them. Nothing is changed. Exit status: 0 nothing failed (there may be warnings), 1 something failed.',
  run: async ({ output }, terminal) => {
    const { readStatus } = await import('./read-status.ts');
    const now = terminal.now();
    const status = await withProgress(
      terminal,
      () => "asking this host's services",
      () => readStatus(terminal, now),
    );
    if (output === 'json') terminal.stdout.write(documentText('HostStatus', status));
    else {
      const { resultStyle } = await import('../kit/check-report.ts');
      const { statusText } = await import('./status-text.ts');
      terminal.stdout.write(statusText(status, now / 1000, resultStyle(terminal)));
    }
    return status.ok ? 0 : 1;
  },
});
