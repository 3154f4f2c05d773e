import { join } from 'node:path';
import { goPrograms, requiredVersion } from '../go-build.ts';
import { type KubernetesMinor, newestMinor } from './versions.ts';

/** Paths of the two binaries. */
export interface KubernetesBinaries {
  /** etcd, the control plane and kubelet; the first argument selects the program. */
  readonly kubernetes: string;
  /** kubectl alone. */
  readonly kubectl: string;
}

const module = new URL('.', import.meta.url).pathname;

/**
 * Builds the binaries from the module in this directory, which takes about five minutes on two cores, unless
 * they are in the cache. Older versions have their go.mod and go.sum in subdirectories.
 */
export async function kubernetesBinaries(minor: KubernetesMinor): Promise<KubernetesBinaries> {
  const versions = minor === newestMinor ? undefined : minor;
  const version = await requiredVersion(join(module, versions ?? '.'), 'k8s.io/kubernetes');
  return goPrograms({
    name: `kubernetes-${version}`,
    module,
    ...(versions === undefined ? {} : { versions }),
    sources: ['main.go'],
    programs: { kubernetes: '.', kubectl: 'k8s.io/kubernetes/cmd/kubectl' },
    flags: ['-trimpath', '-ldflags', linkerFlags(version)],
  });
}

function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const assignments = Object.entries(variables).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  return ['-s', '-w', ...assignments].join(' ');
}
