import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, apiClient } from '../../../src/kube/api-client.ts';
import type { OwnCluster } from './own-cluster.ts';

const name = 'stand-in';
const address = '127.0.0.1';

/** From the scheduler's binding until the pod is ready, as with an image that the node has. */
const startMs = 2_000;
/** As of a kubelet. */
const leaseMs = 10_000;

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly { readonly name: string; image: string }[] };
}

/**
 * A node without containers: pods that the scheduler binds to it become ready, and vanish when they are deleted. One HTTP
 * server answers in place of all of them.
 */
export class StandInKubelet {
  /** Port of all pods. */
  readonly port: number;
  readonly #client: ApiClient;
  readonly #servers: Server;
  readonly #stopping: AbortController;
  readonly #lease: NodeJS.Timeout;
  readonly #started = new Set<string>();
  #failure: unknown;

  private constructor(client: ApiClient, servers: Server, stopping: AbortController) {
    this.#client = client;
    this.#servers = servers;
    this.#stopping = stopping;
    this.port = (servers.address() as AddressInfo).port;
    this.#lease = setInterval(
      () => this.#patch(leasePath, { spec: { renewTime: now() } }),
      leaseMs,
    );
    this.#watch();
  }

  static async start({ site, load }: OwnCluster): Promise<StandInKubelet> {
    const { adminCertificate: admin } = site.record.kubernetes ?? {};
    if (admin === undefined) throw new Error('the site has no cluster');
    const stopping = new AbortController();
    const clientCertificate = {
      cert: await readFile(admin.cert, 'utf8'),
      key: await readFile(admin.key, 'utf8'),
    };
    const server = { url: site.server, ca: site.ca.pem, clientCertificate };
    await load.createAll('nodes', [
      { collection: '/api/v1/nodes', body: node() },
      { collection: leases, body: lease() },
    ]);
    const servers = createServer((_, response) => response.end('{}')).listen(0, address);
    await once(servers, 'listening');
    return new StandInKubelet(apiClient(server, stopping.signal), servers, stopping);
  }

  /** @throws Error if the API server refused a request of this stand-in, or its watch has ended */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  stop(): void {
    clearInterval(this.#lease);
    this.#stopping.abort();
    this.#client.close();
    this.#servers.close();
    this.#servers.closeAllConnections();
  }

  #watch(): void {
    const path = `/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D${name}`;
    let rest = '';
    const onData = (chunk: Buffer): void => {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: Pod };
        if (type === 'ADDED' || type === 'MODIFIED') this.#look(object);
      }
    };
    this.#client.send({ method: 'GET', path, onData }).then(
      ({ status }) => this.#fail(new Error(`the watch of pods has ended: ${status}`)),
      (error: unknown) => this.#fail(error),
    );
  }

  #look({ metadata, spec }: Pod): void {
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    if (metadata.deletionTimestamp !== undefined) {
      this.#send({ method: 'DELETE', path, body: '{"gracePeriodSeconds":0}' });
      return;
    }
    if (this.#started.has(metadata.uid)) return;
    this.#started.add(metadata.uid);
    void sleep(startMs).then(() => this.#patch(`${path}/status`, { status: running(spec) }));
  }

  #patch(path: string, body: object): void {
    const contentType = 'application/merge-patch+json';
    this.#send({ method: 'PATCH', path, body: JSON.stringify(body), contentType });
  }

  #send(request: Parameters<ApiClient['send']>[0]): void {
    this.#client.send(request).then(
      ({ status, body }) => {
        if (status >= 300 && status !== 404)
          this.#fail(new Error(`${request.path}: ${status} ${JSON.stringify(body)}`));
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #fail(error: unknown): void {
    if (!this.#stopping.signal.aborted) this.#failure ??= error;
  }
}

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const leasePath = `${leases}/${name}`;

/** MicroTime of meta/v1. */
const now = (): string => new Date().toISOString().replace('Z', '000Z');

function lease(): object {
  return {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: now() },
  };
}

/** With room for all pods of a part. */
function node(): object {
  const capacity = { cpu: '4000', memory: '16Ti', pods: '4000' };
  return {
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
    status: {
      ...{ capacity, allocatable: capacity },
      addresses: [{ type: 'InternalIP', address }],
      conditions: [condition('Ready')],
    },
  };
}

function running({ containers }: Pod['spec']): object {
  const startedAt = new Date().toISOString();
  return {
    ...{ phase: 'Running', hostIP: address, podIP: address, podIPs: [{ ip: address }] },
    startTime: startedAt,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
    containerStatuses: containers.map(({ name, image }) => ({
      ...{ name, image, imageID: image, ready: true, started: true, restartCount: 0 },
      state: { running: { startedAt } },
    })),
  };
}

function condition(type: string): object {
  const time = new Date().toISOString();
  return { type, status: 'True', reason: 'StandIn', lastTransitionTime: time };
}
