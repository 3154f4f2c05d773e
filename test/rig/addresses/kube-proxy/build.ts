import { goPrograms, requiredVersion } from '../../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;

/** Builds kube-proxy unless it is cached: seconds, since most of it was compiled for the site's Kubernetes. */
export async function kubeProxyBinary(): Promise<string> {
  const built = await goPrograms({
    name: `kube-proxy-${await requiredVersion(module, 'k8s.io/kubernetes')}`,
    module,
    programs: { 'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy' },
    flags: ['-trimpath', '-ldflags', '-s -w'],
  });
  return built['kube-proxy'];
}
