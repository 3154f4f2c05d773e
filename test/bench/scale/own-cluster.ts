import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { waitFor } from '../../rig/wait-for.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { kubernetesBinaries } from '../../rig/site/kubernetes/build.ts';
import { controlPlanePorts, startControlPlane } from '../../rig/site/kubernetes/control-plane.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { stopAll, type StartedProcess } from '../../rig/site/processes.ts';
import { openSite, siteOf, type Site } from '../../rig/site/site.ts';
import { ApiLoad } from './api-load.ts';

/** A cluster that is thrown away afterwards: to delete 20,000 namespaces one by one takes hours. */
export interface OwnCluster {
  /** The test site, with this cluster instead of its own. */
  readonly site: Site;
  /** Creates objects by the thousand. */
  readonly load: ApiLoad;
  /** The control plane's processes, by name. */
  readonly processes: readonly StartedProcess[];
  /** Port of etcd; its clients need a certificate of the site's CA. */
  readonly etcdPort: number;
  /**
   * Waits until the controllers have made their objects in the namespace that was created last: they would take part of the processor.
   * They make about 150 namespaces a second.
   */
  readonly controllersDone: (lastNamespace: string) => Promise<void>;
  stop(): Promise<void>;
}

/** Starts etcd, the API server, the controllers and the scheduler, beside those of the test site. */
export async function startOwnCluster(): Promise<OwnCluster> {
  const shared = await openSite();
  const { record, certificates: ca } = shared;
  const directory = await mkdtemp('/var/tmp/berth-scale-');
  const processes: StartedProcess[] = [];
  const remove = async (): Promise<void> => {
    await stopAll(processes.toReversed());
    await rm(directory, { recursive: true });
  };
  try {
    const ports = await freePorts(controlPlanePorts);
    const kubernetes = await startControlPlane({
      ...{ directory, ca, ports, serverCertificate: record.serverCertificate },
      binary: (await kubernetesBinaries(record.kubernetesMinor)).kubernetes,
      issuers: [record.keycloak.issuer, record.provider.issuer],
      onStart: (started) => Promise.resolve(void processes.push(started)),
    });
    const site = await siteOf({ ...record, kubernetes });
    const { cert, key } = kubernetes.adminCertificate;
    const load = new ApiLoad(kubernetes.server, {
      ca: shared.ca.pem,
      cert: await readFile(cert, 'utf8'),
      key: await readFile(key, 'utf8'),
    });
    return {
      ...{ site, load, processes, etcdPort: ports.etcd },
      controllersDone: (last) => controllersDone(new LiveCluster(site), last),
      stop: remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function controllersDone(cluster: LiveCluster, last: string): Promise<void> {
  const what = `the controllers in ${last}`;
  await waitFor({ what, timeoutMs: 600_000, everyMs: 1_000 }, async () => {
    const account = await cluster.get('serviceaccount', 'default', last);
    return account && (await cluster.get('configmap', 'kube-root-ca.crt', last));
  });
}
