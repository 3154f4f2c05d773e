import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { freePorts } from '../../../src/verify/free-ports.ts';
import { kubernetesBinaries } from '../../rig/site/kubernetes/build.ts';
import { controlPlanePorts, startControlPlane } from '../../rig/site/kubernetes/control-plane.ts';
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
    const load = await ApiLoad.connect(kubernetes.server, {
      ca: shared.ca.pem,
      cert: await readFile(cert, 'utf8'),
      key: await readFile(key, 'utf8'),
    });
    return {
      ...{ site, load, processes, etcdPort: ports.etcd },
      stop: async () => {
        load.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
