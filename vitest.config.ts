import './scripts/check-node.ts';
import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { soak } from './test/soak.ts';

const all = globSync('test/**/*.test.ts').sort();
const below = (...folders: string[]): string[] =>
  all.filter((file) => folders.some((folder) => file.startsWith(`test/${folder}`)));
const without = (files: readonly string[], ...others: (readonly string[])[]): string[] =>
  files.filter((file) => !others.some((other) => other.includes(file)));
const says = (file: string, what: RegExp): boolean => what.test(readFileSync(file, 'utf8'));

const unit = below('unit/');
/** What needs a login node (test/ssh/host), or its images, and no cluster. */
const ssh = below('ssh/', 'images/', 'lint/', 'cli/subid');
/** What ends the API server: nothing else can use the site meanwhile. */
const outages = all.filter((file) => says(file, /\/api-server-outage\.ts'/));
/** What takes the guard of the cluster away, or counts on it. */
const guarded = all.filter((file) => says(file, /stolen-token\.ts'|'guard'/));
/** What uses the cluster only by the objects of its own accounts: others can use it too. */
const accounts = without(
  below('cli/', 'credentials/', 'faults/', 'hooks/', 'identity/', 'ldap/', 'system/'),
  ...[ssh, outages, guarded],
);
const site = without(all, unit, ssh, outages, accounts);

/** With `npm run test:soak` only what does more then: files that use test/soak.ts themselves or by the suite. */
const unlessSoaking = (files: readonly string[]): string[] =>
  files.filter((file) => !soak || says(file, /\/soak\.ts'|conformance(?:Of\w+)?\(/));

/** Within a project that uses the site or login nodes, one file runs at a time. */
const oneAtATime = { fileParallelism: false, testTimeout: 60_000, hookTimeout: 120_000 };

/**
 * `unit` needs nothing but Node and bash and takes seconds. `ssh` runs the compiled outputs on login nodes
 * with a real sshd. The others run them against the real API server, identity provider and node, which they
 * start or find running. test/run.ts says which of them run side by side.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: unlessSoaking(unit),
          // A process of its own for each file would take longer than most of them.
          isolate: false,
          maxWorkers: 2,
          // They take milliseconds; a busy disk is no failure of theirs.
          testTimeout: 30_000,
        },
      },
      ...Object.entries({ outages, site, ssh, accounts }).map(([name, files], index) => ({
        test: {
          ...{ name, include: unlessSoaking(files), sequence: { groupOrder: index + 1 } },
          globalSetup: [`test/${name === 'ssh' ? 'ssh' : 'site'}/vitest-setup.ts`],
          ...oneAtATime,
        },
      })),
    ],
  },
});
