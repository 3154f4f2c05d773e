import { execa } from 'execa';
import { siteFolder } from '../folders.ts';
import { withLock } from '../lock.ts';
import { registryAnswers } from '../docker-registry.ts';
import { say } from '../progress.ts';
import type { Site } from '../site.ts';
import { nodeBinaries } from './binaries.ts';
import { NodeImages, type ImageName } from './containerd-images.ts';
import { startCilium, stopCilium } from './cilium/enable.ts';
import { entering } from './namespaces.ts';
import { startPart, stopPart, type PartName } from './parts.ts';
import { nodeFolder, type NodeRecord } from './record.ts';
import { registryAt, type NodeRegistry } from './registry.ts';
import { nodeName, ready, startNode } from './start.ts';

/** The real node of the site's cluster: kubelet, containerd and runc in a network of its own. */
export class TestNode {
  /** Its name in the cluster. */
  readonly name = nodeName;
  /** Its InternalIP, which the machine reaches. */
  readonly address: string;
  /** The machine's address, as the node and pods of its bridge reach it. */
  readonly machine: string;
  readonly #site: Site;
  readonly #record: NodeRecord;
  readonly #images: NodeImages;

  constructor(site: Site, record: NodeRecord, images: NodeImages) {
    this.#site = site;
    this.#record = record;
    this.#images = images;
    this.address = record.address;
    this.machine = record.gateway;
  }

  /** The name of an image of the tests, which containerd then has: no pull is needed. */
  image(name: ImageName): Promise<string> {
    return locked(() => this.#images.ensure(name));
  }

  hasImage(image: string): Promise<boolean> {
    return this.#images.has(image);
  }

  /** Takes the images of a docker-archive (`podman save`) in, under their names. */
  importImage(archive: string): Promise<void> {
    return locked(() => this.#images.importArchive(archive));
  }

  /** A registry in which nothing is until a test pushes it. */
  get registry(): NodeRegistry {
    return registryAt(this.machine);
  }

  /**
   * Pushes an image of the tests to the registry; containerd does not keep it under that name.
   *
   * @param repository its name there, with a tag
   * @returns the name to pull it by
   */
  async push(name: ImageName, repository = `${name}:1`): Promise<string> {
    const { registry } = this;
    const as = `${registry.address}/${repository}`;
    await locked(() => this.#images.push(name, as, registry));
    return as;
  }

  /** ctr(8) in kubelet's namespace. @returns its stdout */
  ctr(args: readonly string[]): Promise<string> {
    return this.#images.ctr(args);
  }

  /** Ends kubelet, containerd or the registry; what runs in pods goes on. */
  stop(part: PartName): Promise<void> {
    return locked(() => stopPart(part));
  }

  /**
   * Starts again what `stop` ended, and waits until the node is Ready by its word; kubelet knows of its
   * pods a moment later.
   */
  start(part: PartName): Promise<void> {
    return locked(async () => {
      const since = Math.floor(Date.now() / 1000) * 1000;
      await startPart(part);
      if (part === 'containerd') await this.#images.answers();
      if (part === 'docker-registry')
        await registryAnswers(this.registry.address, this.#site.ca.file);
      await ready(this.#site, part === 'kubelet' ? since : 0);
    });
  }

  /** Nobody reaches the node meanwhile, and it nobody: its power is off for all that others can see. */
  async cutOff<T>(during: () => Promise<T>): Promise<T> {
    const link = (state: string): Promise<string> =>
      this.inside(['ip', 'link', 'set', 'eth0', state]);
    await link('down');
    try {
      return await during();
    } finally {
      await link('up');
      await this.inside(['ip', 'route', 'add', 'default', 'via', this.machine]);
      await ready(this.#site);
    }
  }

  /**
   * Has Cilium connect the pods that begin from now on, and enforce their NetworkPolicies; the node's
   * bridge, which connects them otherwise, knows of none. Half a minute; minutes to build it, once.
   */
  enforceNetworkPolicies(): Promise<void> {
    return locked(async () => {
      await startCilium(this.#site, this.name);
      await this.#images.answers();
      await ready(this.#site);
    });
  }

  /** The bridge again for pods that begin from now on. Those of Cilium should be deleted before. */
  ignoreNetworkPolicies(): Promise<void> {
    return locked(async () => {
      await stopCilium();
      await this.#images.answers();
      await ready(this.#site);
    });
  }

  /** Runs a command as root in the node's namespaces. @returns its stdout */
  async inside(argv: readonly string[]): Promise<string> {
    const { stdout } = await execa('nsenter', entering(this.#record.init, argv));
    return stdout;
  }
}

/**
 * The node, Ready: started when it does not run (10 s; minutes on a machine that never built it). It
 * ends with the site.
 */
export async function ensureNode(site: Site): Promise<TestNode> {
  return locked(async () => {
    const record = await startNode(site);
    const images = new NodeImages(nodeFolder, record.init, await nodeBinaries());
    return new TestNode(site, record, images);
  });
}

function locked<T>(work: () => Promise<T>): Promise<T> {
  const waiting = (): void => say('waiting for another process to start the node');
  return withLock(`${siteFolder}.node.lock`, waiting, work);
}
