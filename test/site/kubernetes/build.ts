import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheFolder } from '../folders.ts';
import { step } from '../progress.ts';

/** Paths of the two binaries that every site shares. */
export interface KubernetesBinaries {
  /** etcd and the control plane; the first argument picks the program. */
  readonly kubernetes: string;
  /** kubectl alone, as a site would install it. */
  readonly kubectl: string;
}

const module = new URL('.', import.meta.url).pathname;

/**
 * The binaries of the module in this folder: from the cache, or built from the Go module proxy, which
 * takes about five minutes on two cores. The cache's key is what the build is made from.
 */
export async function kubernetesBinaries(): Promise<KubernetesBinaries> {
  const version = await kubernetesVersion();
  const flags = ['-trimpath', '-ldflags', linkerFlags(version)];
  const folder = join(cacheFolder, `kubernetes-${version}-${await key(flags)}`);
  const binaries = { kubernetes: join(folder, 'kubernetes'), kubectl: join(folder, 'kubectl') };
  if (await exists(folder)) return binaries;

  const unfinished = `${folder}.${randomUUID()}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await step(
      `building etcd and the control plane of Kubernetes ${version} from Go modules: minutes, once`,
      () => build('.', join(unfinished, 'kubernetes'), flags),
    );
    await step(`building kubectl ${version}`, () =>
      build('k8s.io/kubernetes/cmd/kubectl', join(unfinished, 'kubectl'), flags),
    );
    await rename(unfinished, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return binaries;
}

/** The version of k8s.io/kubernetes that go.mod asks for, e.g. `v1.36.3`. */
async function kubernetesVersion(): Promise<string> {
  const found = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(
    await readFile(join(module, 'go.mod'), 'utf8'),
  );
  if (found?.[1] === undefined) throw new Error(`${module}go.mod names no k8s.io/kubernetes`);
  return found[1];
}

async function key(flags: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(flags.join(' '));
  for (const file of ['go.mod', 'go.sum', 'main.go'])
    hash.update(await readFile(join(module, file)));
  return hash.digest('hex').slice(0, 12);
}

function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const assignments = Object.entries(variables).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  return ['-s', '-w', ...assignments].join(' ');
}

async function build(target: string, output: string, flags: readonly string[]): Promise<void> {
  await execa('go', ['build', ...flags, '-o', output, target], {
    cwd: module,
    env: { CGO_ENABLED: '0', GOFLAGS: '-mod=mod' },
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
