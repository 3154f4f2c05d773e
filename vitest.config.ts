import './scripts/check-node.ts';
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { soak } from './test/rig/soak.ts';

/** What a directory of tests needs; each is a project of its name. */
const environments = {
  /** A login node of its own with a real sshd, and no cluster. */
  node: 'test/rig/node/vitest-setup.ts',
  /** The test site, used only through the test's own users and accounts: other tests may use it meanwhile. */
  site: 'test/rig/site/vitest-setup.ts',
  /** The test site, where the test changes what all share: policies, the node, the provider. */
  'site-exclusive': 'test/rig/site/vitest-setup.ts',
  /** The test site, whose API server the test stops: no other test may use it meanwhile. */
  'site-outage': 'test/rig/site/vitest-setup.ts',
};

/** With `npm run test:soak` only the files which repeat more then: those that import soak.ts or run the conformance suite. */
function files(directory: string): string[] {
  const all = globSync(`test/${directory}/**/*.test.ts`).sort();
  const repeats = /\/soak\.ts'|conformance(?:Of\w+)?\(/;
  return soak ? all.filter((file) => repeats.test(readFileSync(file, 'utf8'))) : all;
}

/** test/run.ts says which projects run side by side. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: files('unit'),
          // A process of its own for each file would take longer than most of them.
          isolate: false,
          maxWorkers: 2,
          // They take milliseconds; a busy disk must not fail them.
          testTimeout: 30_000,
        },
      },
      ...Object.entries(environments).map(([name, setup], index) => ({
        test: {
          ...{ name, include: files(name), sequence: { groupOrder: index + 1 } },
          globalSetup: [setup],
          // One file runs at a time: they share the site, or the two cores.
          ...{ fileParallelism: false, testTimeout: 60_000, hookTimeout: 120_000 },
        },
      })),
    ],
  },
});
