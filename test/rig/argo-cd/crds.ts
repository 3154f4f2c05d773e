import { moduleSources } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;

/** The file with the CRD of Application, from Argo CD's Go module; nothing of it is built. */
export async function argoApplicationCrd(): Promise<string> {
  const env = { GOTOOLCHAIN: 'auto' };
  const sources = await moduleSources(module, 'github.com/argoproj/argo-cd/v3', env);
  return `${sources}/manifests/crds/application-crd.yaml`;
}
