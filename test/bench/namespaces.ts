import { hookCommand, warmUp } from './logins.ts';
import { runInterleaved, medians } from './measure.ts';
import type { BenchPart } from './parts.ts';
import { checkBound, printLine } from './report.ts';

const existing = 5_000;

export const namespaceScale: BenchPart = {
  title: `${existing} namespaces of other users`,
  users: ['bench-later'],
  async run(bench) {
    await warmUp(bench, undefined);
    const time = async (): Promise<number> =>
      medians((await runInterleaved(15, { berth: hookCommand(bench, 'bench-later') })).berth).wall;
    const few = await time();
    const manifests = Array.from({ length: existing }, (_, index) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: `bench-crowd-${index}`, labels: { 'berth-bench': 'crowd' } },
      }),
    );
    try {
      // In batches, because `site.kubectl` has a time limit of one minute.
      for (let from = 0; from < existing; from += 500)
        await bench.site.kubectl(['create', '-f', '-'], {
          input: manifests.slice(from, from + 500).join('\n'),
        });
      const full = await time();
      printLine(`without: ${few.toFixed(1)} ms, with: ${full.toFixed(1)} ms`);
      checkBound('with them compared with without', { value: full / few }, { atMost: 1.15 });
    } finally {
      await bench.site.kubectl(['delete', 'namespace', '-l', 'berth-bench=crowd', '--wait=false']);
    }
  },
};
