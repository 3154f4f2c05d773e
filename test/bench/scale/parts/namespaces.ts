import { openBench } from '../../bench-portal.ts';
import { hookCommand, warmUp } from '../../logins.ts';
import { medians, runInterleaved } from '../../measure.ts';
import { startOwnCluster } from '../own-cluster.ts';
import type { ScalePart } from '../parts.ts';
import { createUserNamespaces, crowdNamespace } from '../user-namespaces.ts';

const counts = [0, 1_000, 5_000, 20_000];
const runs = 25;

/** A later login, with more and more namespaces of others on the cluster. */
export const namespaces: ScalePart = {
  title: 'A later login, with the namespaces of others on the cluster',
  async run(record) {
    const own = await startOwnCluster();
    const bench = await openBench(['bench-later'], own.site);
    try {
      await warmUp(bench, undefined);
      const ratios: number[] = [];
      let from = 0;
      for (const count of counts) {
        await createUserNamespaces(own.load, { from, to: count });
        if (count > from) await own.controllersDone(crowdNamespace(count - 1));
        from = count;
        const { login, node } = await runInterleaved<'login' | 'node'>(runs, {
          login: hookCommand(bench, 'bench-later'),
          node: () => Promise.resolve(bench.bareNode()),
        });
        const size = { count, of: 'namespaces' };
        record({ what: 'a later login', size, value: medians(login).wall, unit: 'ms' });
        // The machine's own speed varies between the rounds.
        const starts = medians(login).wall / medians(node).wall;
        record({ what: 'a later login, in starts of Node', size, value: starts, unit: '' });
        ratios.push(starts);
      }
      const [none = 1] = ratios;
      record({
        what: 'the slowest of them, in starts of Node, divided by the first',
        ...{ value: Math.max(...ratios) / none, unit: '', wanted: { atMost: 1.1 } },
      });
    } finally {
      await bench.close();
      await own.stop();
    }
  },
};
