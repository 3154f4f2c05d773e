import './scripts/check-node.ts';
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { groupOf } from './test/groups.ts';
import { LongestFirst } from './test/longest-first.ts';
import { soak } from './test/rig/soak.ts';

/** The global setup of each directory of tests that needs one. The directories are Vitest projects. */
const environments = {
  /** Tests that start their own login node with sshd; no cluster. */
  node: 'test/rig/login-node/vitest-setup.ts',
  /** Tests that use the test site through their own users only, so that other tests can run at the same time. */
  site: 'test/rig/site/vitest-setup.ts',
  /** Tests that change shared parts of the test site: policies, the node, the identity provider. */
  'site-exclusive': 'test/rig/site/vitest-setup.ts',
  /** Tests of programs of others, such as Flux or Cilium, some of which take minutes to build. They run last. */
  integrations: 'test/rig/site/vitest-setup.ts',
  /** Tests that stop the test site's API server; no other test can use the site at the same time. */
  'site-outage': 'test/rig/site/vitest-setup.ts',
};

/** Names of the groups of test/groups.ts that test/run.ts runs; all of them without it. */
const { BERTH_TEST_GROUPS } = process.env;

/** The test files of a directory; with `npm run test:soak` only those that import soak.ts or run the conformance cases. */
function files(directory: string): string[] {
  const wanted = (file: string): boolean => {
    const group = groupOf(file);
    return group === undefined || BERTH_TEST_GROUPS?.split(',').includes(group) !== false;
  };
  const all = globSync(`test/${directory}/**/*.test.ts`).filter(wanted).sort();
  const repeats = /\/soak\.ts'|conformance(?:Of\w+)?\(/;
  return soak ? all.filter((file) => repeats.test(readFileSync(file, 'utf8'))) : all;
}

/** test/run.ts runs some projects at the same time. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: files('unit'),
          // A separate process for each file would take longer than most files.
          isolate: false,
          maxWorkers: 2,
          // Most tests take milliseconds, but must not fail on a busy machine.
          testTimeout: 30_000,
        },
      },
      ...Object.entries(environments).map(([name, setup], index) => ({
        test: {
          ...{ name, include: files(name), sequence: { groupOrder: index + 1 } },
          env: { BERTH_TEST_PROJECT: name },
          ...{
            globalSetup: [setup],
            setupFiles: ['test/rig/locale.ts', 'test/rig/login-node/log-of-failure.ts'],
          },
          // Files that share the site run one at a time. The others wait half of their time: for sshd, systemd or a timer.
          ...{ maxWorkers: name === 'node' ? 2 : 1 },
          // For a busy machine.
          ...{ testTimeout: 180_000, hookTimeout: 300_000 },
          expect: { poll: { timeout: 60_000 } },
        },
      })),
    ],
  },
});
