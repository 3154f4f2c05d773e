import './scripts/check-node.ts';
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { soak } from './test/soak.ts';

/** What needs a login node (test/ssh/host), or its images, and no cluster. */
const ssh = [
  ...['ssh', 'images', 'lint'].map((folder) => `test/${folder}/**/*.test.ts`),
  'test/cli/subid*.test.ts',
];

/** With `npm run test:soak` only what does more then: files that use test/soak.ts themselves or by the suite. */
function unlessSoaking(patterns: readonly string[]): string[] {
  if (!soak) return [...patterns];
  return globSync(patterns).filter((file) =>
    /\/soak\.ts'|conformance(?:Of\w+)?\(/.test(readFileSync(file, 'utf8')),
  );
}

/**
 * `unit` needs nothing but Node and bash and takes seconds. `site` runs the compiled outputs against
 * the real API server, identity provider and accounts, which it starts or finds running. `ssh` runs
 * them on login nodes with a real sshd. Within each of the latter two, one file runs at a time;
 * test/run.ts runs the two side by side.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: unlessSoaking(['test/unit/**/*.test.ts']),
          // A process of its own for each file would take longer than most of them.
          isolate: false,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'site',
          include: unlessSoaking(['test/**/*.test.ts']),
          exclude: ['test/unit/**', ...ssh],
          globalSetup: ['test/site/vitest-setup.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'ssh',
          include: unlessSoaking(ssh),
          globalSetup: ['test/ssh/vitest-setup.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
