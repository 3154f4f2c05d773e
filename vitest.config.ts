import { defineConfig } from 'vitest/config';

/**
 * `unit` needs nothing but Node and bash and takes seconds. `site` runs the compiled outputs against
 * the real API server, identity provider and accounts, which it starts or finds running.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          name: 'site',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**'],
          globalSetup: ['test/site/vitest-setup.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
