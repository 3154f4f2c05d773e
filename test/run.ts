/**
 * `npm test`: runs the project `unit` while the site starts, then two streams at the same time, since both often wait:
 * `site-outage`, `site-exclusive`, and `integrations` when its programs are built; `node`, two files at a time, and then
 * `site`. Then it runs each file that failed once more, alone, and prints the time of each file, the skipped tests and the
 * failures; the run stays red. It writes test/times.md.
 *
 * `--groups=all` adds all groups of test/groups.ts, and `--groups=new` those that have not passed as they are; what passed is
 * recorded in test/groups-passed.json. `npm test -- NAME…` runs the files whose paths contain NAME, one after the other.
 */
import '../scripts/check-node.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { prebuild } from './rig/site/build-in-background.ts';
import { ensurePackages } from './rig/site/debian-packages.ts';
import { testPackages } from './rig/site/test-packages.ts';
import { setup, teardown } from './rig/site/vitest-setup.ts';
import { soak } from './rig/soak.ts';
import { filesOf, groups, passedOn, recordPasses } from './groups.ts';
import { readDurations, durationsTable, type FileDuration } from './duration-reporter.ts';
import { cachesAreEmpty, writeTimes } from './run-times.ts';

const vitest = new URL('../node_modules/.bin/vitest', import.meta.url).pathname;

/** @returns the exit code */
async function run(args: readonly string[], env: Record<string, string> = {}): Promise<number> {
  const { exitCode } = await execa(vitest, ['run', ...args], {
    ...{ stdio: 'inherit', reject: false, env },
  });
  return exitCode ?? 1;
}

/** @param chosen names of groups */
async function runAll(times: string, chosen: readonly string[]): Promise<number> {
  const start = (project: string): Promise<number> =>
    run(
      [
        ...['--project', project, '--passWithNoTests', '--reporter=default'],
        `--reporter=${new URL('duration-reporter.ts', import.meta.url).pathname}`,
      ],
      { BERTH_TEST_SITE: 'ready', BERTH_TEST_TIMES: times, BERTH_TEST_GROUPS: chosen.join() },
    );
  const started = performance.now();
  const caches = cachesAreEmpty() ? 'empty' : 'warm';
  const ready = ensurePackages(testPackages).then(setup);
  const [unit] = await Promise.all([start('unit'), ready]);
  const codes = [unit];
  const built = prebuild(chosen);
  try {
    const node = start('node');
    const alone = async (): Promise<void> => {
      for (const project of ['site-outage', 'site-exclusive']) codes.push(await start(project));
      await built;
      codes.push(await start('integrations'));
    };
    codes.push(
      ...(await Promise.all([node, node.then(() => start('site')), alone().then(() => 0)])),
    );
    const minutes = (performance.now() - started) / 60_000;
    const files = readDurations(times);
    console.log(`${durationsTable(files)}\n\n${minutes.toFixed(1)} minutes`);
    const code = Math.max(...codes, skipped(files));
    await writeTimes({ caches, minutes: code === 0 ? minutes : undefined, files });
    await recordPasses(chosen.filter((name) => isGreen(name, files)));
    await reportFailures(files.filter(({ failed }) => failed.length > 0));
    return code;
  } finally {
    await built;
    await teardown();
  }
}

/** Whether each file of a group has passed. */
function isGreen(name: string, results: readonly FileDuration[]): boolean {
  const green = results.filter(({ failed, skipped }) => failed.length + skipped.length === 0);
  const group = groups[name];
  return (
    group !== undefined && filesOf(group).every((file) => green.some((one) => one.file === file))
  );
}

/** The groups to run, of those that `--groups` asks for. Prints which are left out. */
async function choose(asked: string | undefined): Promise<string[]> {
  if (asked === undefined) return [];
  const chosen: string[] = [];
  for (const name of Object.keys(groups)) {
    const day = asked === 'new' ? await passedOn(name) : undefined;
    if (day === undefined) chosen.push(name);
    else console.log(`${name}: passed as it is on ${day}`);
  }
  return chosen;
}

/** More of them have a cause of their own, and would take too long. */
const mostAlone = 10;

/** Runs red files once more, alone, so that it is known which of them fail only beside others, and prints what failed. */
async function reportFailures(red: readonly FileDuration[]): Promise<void> {
  const alone: string[] = [];
  for (const { file } of red.slice(0, mostAlone)) {
    const code = await run([file], { BERTH_TEST_SITE: 'ready' });
    alone.push(`${file}: ${code === 0 ? 'passes' : 'fails'} alone`);
  }
  for (const { file, failed } of red)
    for (const each of failed) console.log(`\nFAILED ${file}: ${each}`);
  for (const line of alone) console.log(line);
}

/** Prints the skipped tests. @returns the exit code: 1 if tests were skipped and `CI=true` */
function skipped(files: readonly FileDuration[]): number {
  const names = files.flatMap((each) => each.skipped.map((name) => `${each.file}: ${name}`));
  for (const name of names) console.log(`skipped: ${name}`);
  return names.length > 0 && process.env.CI === 'true' ? 1 : 0;
}

const { values, positionals: names } = parseArgs({
  options: { groups: { type: 'string' } },
  allowPositionals: true,
});
if (soak) console.log('npm run test:soak takes about 35 minutes on two cores');
if (names.length > 0) {
  process.exitCode = await run(names);
} else {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'));
  try {
    process.exitCode = await runAll(join(directory, 'times'), await choose(values.groups));
  } finally {
    await rm(directory, { recursive: true });
  }
}
