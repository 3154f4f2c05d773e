import { goPrograms, requiredVersion } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const helm = 'helm.sh/helm/v4';

export const chart = new URL('../../../etc/helm/berth', import.meta.url).pathname;

export type HelmBinaries = Readonly<Record<'helm' | 'kubeconform', string>>;

/** Helm and kubeconform, from the cache directory or built: minutes, once. */
export async function helmBinaries(): Promise<HelmBinaries> {
  return goPrograms({
    name: `helm-${await requiredVersion(module, helm)}`,
    module,
    programs: {
      helm: `${helm}/cmd/helm`,
      kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform',
    },
    flags: ['-trimpath', '-ldflags', '-s -w'],
  });
}
