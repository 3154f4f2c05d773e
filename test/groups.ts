/**
 * Tests of what is neither hook nor login: programs of others, and Berth's companions. `npm test` leaves them out,
 * `npm run test:all` runs them, and CI runs those that have not passed as they are.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

export interface Group {
  /** Directories and files of tests. */
  readonly tests: readonly string[];
  /** Entry points of Berth's programs that they start, as patterns. */
  readonly programs: readonly string[];
}

/** A group that passed. */
interface Pass {
  /** `keyOf` the group. */
  readonly key: string;
  /** YYYY-MM-DD */
  readonly day: string;
}

const admin = 'src/cli/berth.ts';
const hooks = [admin, 'hooks/*.ts'];
const all = [...hooks, 'shell/*.ts'];
const balancer = 'src/companions/balancer/berth-balancer.ts';
const notebooks = 'src/companions/notebooks/berth-notebooks.ts';
const slurmSync = 'src/companions/slurm-accounts/berth-slurm-sync.ts';

export const groups: Readonly<Record<string, Group>> = {
  ansible: { tests: ['test/node/ansible'], programs: [...all, balancer] },
  balancer: {
    tests: ['test/integrations/balancer', 'test/node/balancer'],
    programs: [...all, balancer],
  },
  cilium: { tests: ['test/integrations/cilium'], programs: hooks },
  'cluster-api': {
    tests: ['test/integrations/cluster-api', 'test/site-exclusive/clusters'],
    programs: [...hooks, 'src/companions/cluster-api/berth-cluster-api.ts'],
  },
  gitops: { tests: ['test/integrations/gitops', 'test/integrations/helm'], programs: hooks },
  kyverno: { tests: ['test/integrations/kyverno'], programs: [] },
  logs: {
    tests: ['test/node/logs', 'test/node/monitoring', 'test/site-exclusive/monitoring'],
    programs: [...all, slurmSync],
  },
  notebooks: {
    tests: [
      'test/node/notebooks',
      'test/node/jupyterhub',
      'test/node/slurm/jupyterhub.test.ts',
      'test/node/slurm/render-sbatch.test.ts',
      'test/site/jupyterhub',
      'test/site-exclusive/notebooks',
      'test/site-exclusive/jupyterhub',
    ],
    programs: [...all, notebooks],
  },
  pages: {
    tests: ['test/node/pages'],
    programs: [admin, 'src/companions/pages/berth-pages.ts'],
  },
  'slurm-accounts': {
    tests: [
      'test/node/slurm/accounts.test.ts',
      'test/node/slurm/accounts-coordinators.test.ts',
      'test/node/slurm/accounts-refused.test.ts',
    ],
    programs: [admin, slurmSync],
  },
};

/** What programs are built of, and what tests read, beside the files that they import or name. */
const shared = ['etc/**', 'packaging/**', 'scripts/**', 'test/rig/**', 'package-lock.json'];

const repository = new URL('..', import.meta.url).pathname;
const record = new URL('groups-passed.json', import.meta.url);

/** The group of a test file, if it is in one. */
export function groupOf(file: string): string | undefined {
  const isIn = (path: string): boolean => file === path || file.startsWith(`${path}/`);
  return Object.keys(groups).find((name) => groups[name]?.tests.some(isIn));
}

/** The test files of a group, as paths below the repository. */
export function filesOf({ tests }: Group): string[] {
  return tests.flatMap((path) =>
    path.endsWith('.ts') ? path : globSync(`${path}/**/*.test.ts`, { cwd: repository }),
  );
}

/** A hash of all that the result of a group depends on in this repository. @param cwd for tests */
export async function keyOf(group: Group, cwd = repository): Promise<string> {
  const { metafile } = await build({
    entryPoints: [...filesOf(group), ...globSync([...group.programs], { cwd })].map(
      (path) => `./${path}`,
    ),
    absWorkingDir: cwd,
    bundle: true,
    metafile: true,
    write: false,
    outdir: '.',
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const imported = Object.keys(metafile.inputs);
  const others = globSync(shared, { cwd, withFileTypes: true, exclude: ['**/__pycache__/**'] })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(cwd, join(entry.parentPath, entry.name)));
  const hash = createHash('sha256');
  // scripts/ names what is built into the programs.
  const built = others.filter((path) => /^scripts\/.*\.ts$/.test(path));
  const files = new Set([...imported, ...namedIn([...imported, ...built], cwd), ...others]);
  for (const path of [...files].sort())
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(cwd, path)))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** The files that modules name in a string: texts that programs contain, and pages that tests read. */
function namedIn(modules: readonly string[], cwd: string): string[] {
  return modules.flatMap((module) => {
    const text = readFileSync(join(cwd, module), 'utf8');
    const names = [...text.matchAll(/'([\w@.-][\w@./-]*\.\w+)'/g)].flatMap(([, name = '']) => [
      join(dirname(module), name),
      name,
    ]);
    return names.filter(
      (path) => statSync(join(cwd, path), { throwIfNoEntry: false })?.isFile() === true,
    );
  });
}

/** The day on which a group passed as it is now. */
export async function passedOn(name: string): Promise<string | undefined> {
  const group = groups[name];
  const pass = (await passes())[name];
  return group !== undefined && pass?.key === (await keyOf(group)) ? pass.day : undefined;
}

/** Records that groups passed as they are. */
export async function recordPasses(names: readonly string[]): Promise<void> {
  const known = { ...(await passes()) };
  const day = new Date().toISOString().slice(0, 10);
  for (const [name, group] of Object.entries(groups))
    if (names.includes(name)) known[name] = { key: await keyOf(group), day };
  const sorted = Object.fromEntries(Object.entries(known).sort());
  await writeFile(record, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

async function passes(): Promise<Readonly<Record<string, Pass>>> {
  return JSON.parse(await readFile(record, 'utf8')) as Record<string, Pass>;
}
