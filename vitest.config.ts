import './scripts/check-node.ts';
import { defineConfig } from 'vitest/config';

/** What needs a login node (test/ssh/host), or its images, and no cluster. */
const ssh = [
  ...['ssh', 'images', 'lint'].map((folder) => `test/${folder}/**/*.test.ts`),
  'test/cli/subid*.test.ts',
];

/**
 * `unit` needs nothing but Node and bash and takes seconds. `site` runs the compiled outputs against
 * the real API server, identity provider and accounts, which it starts or finds running. `ssh` runs
 * them on login nodes with a real sshd.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          name: 'site',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**', ...ssh],
          globalSetup: ['test/site/vitest-setup.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'ssh',
          include: ssh,
          globalSetup: ['test/ssh/vitest-setup.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
