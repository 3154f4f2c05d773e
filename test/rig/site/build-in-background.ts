import { hubEnvironment } from '../jupyterhub/hub-environment.ts';
import { kubeStateMetrics } from '../monitoring/exporters.ts';
import { nginxExporter } from '../pages/build.ts';
import { kyverno } from '../kyverno/kyverno-cli.ts';
import { balancerImage } from '../addresses/balancer-image.ts';
import { externalDnsBinary } from '../addresses/external-dns/build.ts';
import { kubeProxyBinary } from '../addresses/kube-proxy/build.ts';
import { metallbBinaries } from '../addresses/metallb/build.ts';
import { fluxBinaries, helmController } from '../flux/build.ts';
import { helmBinaries } from '../helm/build.ts';
import { helmfileBinary } from '../helmfile/build.ts';
import { coreController } from './cluster-api/build.ts';
import { ciliumBinaries } from './kubernetes-node/cilium/build.ts';

/**
 * Builds programs of others that tests need, one after the other while other tests run, which takes minutes
 * once. Errors are ignored here: the test that needs the program builds it again and reports the error.
 */
export async function prebuild(): Promise<void> {
  const addresses = [metallbBinaries, externalDnsBinary, kubeProxyBinary, balancerImage];
  for (const build of [
    nginxExporter,
    hubEnvironment,
    kubeStateMetrics,
    helmBinaries,
    coreController,
    kyverno,
    ciliumBinaries,
    ...addresses,
    fluxBinaries,
    helmController,
    helmfileBinary,
  ])
    try {
      await build();
    } catch {
      // The test that needs the program reports the error.
    }
}
