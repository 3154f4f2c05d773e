import { runInterleaved, measure, median, medians, type Command, type Sample } from '../measure.ts';
import { wallRatio } from '../measured-ratio.ts';
import { checkBound, printLine, table } from '../report.ts';
import { relayPeak } from './processes-of.ts';
import { whileConnected } from './pod-logins.ts';
import type { PodNodes } from './pods.ts';

const megabytes = 512;
const runs = 5;

type Way = 'berth' | 'kubectl';
const ways = ['berth', 'kubectl'] as const;

/** Measures a stream in each direction, next to `kubectl exec`, and the relay's memory. */
export async function podStream(pods: PodNodes): Promise<void> {
  const kinds: Readonly<Record<string, (way: Way) => Command>> = {
    out: (way) => piped(pods[way](`head -c ${megabytes}M /dev/zero`), '', '> /dev/null'),
    in: (way) => piped(pods[way]('cat > /dev/null'), `head -c ${megabytes}M /dev/zero |`, ''),
  };
  await whileConnected(pods.berth('echo open; exec sleep 3600'), async () => {
    const begin = await runInterleaved<Way>(runs, {
      berth: () => Promise.resolve(pods.berth('true')),
      kubectl: () => Promise.resolve(pods.kubectl('true')),
    });
    for (const [kind, command] of Object.entries(kinds)) {
      const samples: Record<Way, Sample[]> = { berth: [], kubectl: [] };
      const peaks: Record<Way, number[]> = { berth: [], kubectl: [] };
      for (let run = 0; run < runs; run += 1)
        for (const way of ways) {
          const peak = relayPeak(pods.uid);
          samples[way].push(await measure(command(way)));
          peaks[way].push(peak());
        }
      table(samples);
      const rate = (way: Way): number =>
        megabytes / ((medians(samples[way]).wall - medians(begin[way]).wall) / 1000);
      printLine(
        `${kind}: ${rate('berth').toFixed(0)} MB/s, kubectl exec ${rate('kubectl').toFixed(0)}`,
      );
      // Includes the start of the session, as a user sees it; the figure above does not.
      checkBound(
        `${kind}: throughput, of kubectl exec`,
        wallRatio(samples.kubectl, samples.berth),
        { atLeast: 1 },
      );
      const peak = { value: Math.max(...peaks.berth) / 1024 };
      checkBound(`${kind}: MiB of the relay at most`, peak, { atMost: 60 });
      printLine(`     kubectl exec: ${(median(peaks.kubectl) / 1024).toFixed(0)} MiB`);
    }
  });
}

function piped({ file, args, env }: Command, before: string, after: string): Command {
  const words = [file, ...args].map((word) => `'${word}'`).join(' ');
  return { file: '/bin/sh', args: ['-c', `${before} ${words} ${after}`], env };
}
