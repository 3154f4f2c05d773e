import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { goPrograms, requiredVersion } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const path = 'github.com/kyverno/kyverno';

/** Kyverno's own command line, from the cache directory or built: minutes, once. */
export async function kyverno(): Promise<string> {
  const version = await requiredVersion(module, path);
  const { kyverno: program } = await goPrograms({
    name: `kyverno-${version}`,
    module,
    programs: { kyverno: `${path}/cmd/cli/kubectl-kyverno` },
    flags: ['-trimpath', '-ldflags', '-s -w'],
  });
  return program;
}

/** What was refused: by the name of the object, the policy and what it said. */
export type Refusals = ReadonlyMap<string, { readonly policy: string; readonly message: string }>;

/**
 * `kyverno apply`: the policies on objects that are being created, each in the namespace that it names.
 *
 * @throws Error where a policy could not be evaluated
 */
export async function kyvernoApply(
  policies: readonly Manifest[],
  objects: readonly Manifest[],
  { namespaces, user }: { readonly namespaces: readonly Manifest[]; readonly user: string },
): Promise<Refusals> {
  const program = await kyverno();
  const directory = await mkdtemp(join(tmpdir(), 'berth-kyverno-'));
  const write = async (name: string, documents: readonly object[]): Promise<string> => {
    const file = join(directory, name);
    await writeFile(file, documents.map((one) => stringify(one)).join('---\n'));
    return file;
  };
  const values = { apiVersion: 'cli.kyverno.io/v1alpha1', kind: 'Values', namespaces };
  const info = {
    apiVersion: 'cli.kyverno.io/v1alpha1',
    kind: 'UserInfo',
    metadata: { name: 'user' },
    userInfo: { username: user },
  };
  try {
    const { stdout } = await execa(
      program,
      [
        ...['apply', await write('policies.yaml', policies), '--remove-color'],
        ...['--resource', await write('objects.yaml', objects)],
        ...['--values-file', await write('values.yaml', [{ ...values, metadata: { name: 'v' } }])],
        ...['--userinfo', await write('user.yaml', [info])],
        ...['--output', join(directory, 'mutated.yaml'), '--continue-on-fail'],
      ],
      { reject: false, all: true, timeout: 1_500_000 },
    );
    if (!stdout.includes('error: 0,')) throw new Error(stdout);
    return refusals(stdout);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The first policy that refuses an object, as its user would be told. */
function refusals(text: string): Refusals {
  const found = new Map<string, { policy: string; message: string }>();
  const failed = /policy (\S+) -> resource (?:\S*\/)?(\S+) failed:\s*\n1 - +(.*)/g;
  for (const [, policy = '', name = '', message = ''] of text.matchAll(failed))
    if (!found.has(name)) found.set(name, { policy, message });
  return found;
}
