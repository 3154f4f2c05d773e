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

/** The group of test/groups.ts, and what its tests need. */
const builds: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['pages', nginxExporter],
  ['notebooks', hubEnvironment],
  ['logs', kubeStateMetrics],
  ['gitops', helmBinaries],
  ['cluster-api', coreController],
  ['kyverno', kyverno],
  ['cilium', ciliumBinaries],
  ['balancer', metallbBinaries],
  ['balancer', externalDnsBinary],
  ['balancer', kubeProxyBinary],
  ['balancer', balancerImage],
  ['gitops', fluxBinaries],
  ['gitops', helmController],
  ['gitops', helmfileBinary],
];

/**
 * Builds programs of others that tests need, one after the other while other tests run, which takes minutes
 * once. Errors are ignored here: the test that needs the program builds it again and reports the error.
 */
export async function prebuild(groups: readonly string[]): Promise<void> {
  for (const [group, build] of builds)
    try {
      if (groups.includes(group)) await build();
    } catch {
      // The test that needs the program reports the error.
    }
}
