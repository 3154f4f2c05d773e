import { moduleSources } from '../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;

/** Files with the CRDs of PodMonitor and PrometheusRule, from the operator's Go module; nothing of it is built. */
export async function prometheusOperatorCrds(): Promise<readonly string[]> {
  const sources = await moduleSources(module, 'github.com/prometheus-operator/prometheus-operator');
  const directory = `${sources}/example/prometheus-operator-crd/monitoring.coreos.com_`;
  return ['podmonitors', 'prometheusrules'].map((kind) => `${directory}${kind}.yaml`);
}
