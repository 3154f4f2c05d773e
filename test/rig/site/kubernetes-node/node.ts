import { execa } from 'execa';
import { siteDirectory } from '../directories.ts';
import { withLock } from '../lock.ts';
import { waitForRegistry } from '../docker-registry.ts';
import { say } from '../progress.ts';
import type { Site } from '../site.ts';
import { nodeBinaries } from './binaries.ts';
import { podCidr } from './containerd.ts';
import { ContainerdImages, type ImageName, type Layer } from './containerd-images.ts';
import { startCilium, stopCilium } from './cilium/enable.ts';
import { nsenterArgs } from './namespaces.ts';
import { startPart, stopPart, type PartName } from './node-processes.ts';
import { nodeDirectory, type NodeRecord } from './node-record.ts';
import { registryAt, type NodeRegistry } from './registry.ts';
import { nodeName, waitForReadyNode, startNode } from './start.ts';

/** The node of the site's cluster: kubelet, containerd and runc in a network namespace. */
export class TestNode {
  /** The name of the Node object. */
  readonly name = nodeName;
  /** The node's InternalIP, reachable from the machine. */
  readonly address: string;
  /** The machine's address, reachable from the node and from pods on its bridge. */
  readonly machineAddress: string;
  readonly #site: Site;
  readonly #record: NodeRecord;
  readonly #images: ContainerdImages;

  constructor(site: Site, record: NodeRecord, images: ContainerdImages) {
    this.#site = site;
    this.#record = record;
    this.#images = images;
    this.address = record.address;
    this.machineAddress = record.gateway;
  }

  /** Imports a test image into containerd, so that no pull is needed. @returns its name */
  image(name: ImageName): Promise<string> {
    return locked(() => this.#images.ensure(name));
  }

  /** Makes an image of a root file system, unless containerd has one of this name. */
  ensureImage(image: string, layer: () => Promise<Layer>): Promise<void> {
    return locked(() => this.#images.ensureImage(image, layer));
  }

  hasImage(image: string): Promise<boolean> {
    return this.#images.has(image);
  }

  /** Imports the images of a docker-archive (`podman save`) under their names. */
  importImage(archive: string): Promise<void> {
    return locked(() => this.#images.importArchive(archive));
  }

  /** The node's registry, which is empty until a test pushes an image. */
  get registry(): NodeRegistry {
    return registryAt(this.machineAddress);
  }

  /**
   * Pushes a test image to the registry; containerd does not keep it under that name.
   *
   * @param repository repository and tag in the registry
   * @returns the full image name
   */
  async push(name: ImageName, repository = `${name}:1`): Promise<string> {
    const { registry } = this;
    const as = `${registry.address}/${repository}`;
    await locked(() => this.#images.push(name, as, registry));
    return as;
  }

  /** Runs ctr(8) in kubelet's containerd namespace. @returns its stdout */
  ctr(args: readonly string[]): Promise<string> {
    return this.#images.ctr(args);
  }

  /** Stops kubelet, containerd or the registry. Running containers are not affected. */
  stop(part: PartName): Promise<void> {
    return locked(() => stopPart(part));
  }

  /**
   * Starts what `stop` stopped, and waits until the node is Ready. After a restart kubelet needs a moment more
   * until it knows its pods.
   */
  start(part: PartName): Promise<void> {
    return locked(async () => {
      const since = Math.floor(Date.now() / 1000) * 1000;
      await startPart(part);
      if (part === 'containerd') await this.#images.waitForContainerd();
      if (part === 'docker-registry')
        await waitForRegistry(this.registry.address, this.#site.ca.file);
      await waitForReadyNode(this.#site, part === 'kubelet' ? since : 0);
    });
  }

  /** Runs `during` while the node has no network, as if it were powered off. */
  async isolate<T>(during: () => Promise<T>): Promise<T> {
    const link = (state: string): Promise<string> =>
      this.inside(['ip', 'link', 'set', 'eth0', state]);
    await link('down');
    try {
      return await during();
    } finally {
      await link('up');
      await this.inside(['ip', 'route', 'add', 'default', 'via', this.machineAddress]);
      await waitForReadyNode(this.#site);
    }
  }

  /**
   * Starts Cilium, which connects new pods and enforces NetworkPolicies; the default bridge plugin does not
   * enforce them. It takes half a minute; the first build takes minutes.
   */
  enforceNetworkPolicies(): Promise<void> {
    return locked(async () => {
      await startCilium(this.#site, this.name);
      await this.#images.waitForContainerd();
      await waitForReadyNode(this.#site);
    });
  }

  /** Stops Cilium; the bridge connects new pods. Delete the pods that Cilium connected before. */
  stopEnforcingNetworkPolicies(): Promise<void> {
    return locked(async () => {
      await stopCilium();
      await this.#images.waitForContainerd();
      await waitForReadyNode(this.#site);
    });
  }

  /** The command line by which another one runs in the node's namespaces. */
  get enter(): readonly string[] {
    return ['nsenter', ...nsenterArgs(this.#record.init, [])];
  }

  /** Makes pods on the node's bridge reachable from the machine, by a route that ends with the node. */
  async routePods(): Promise<void> {
    await execa('ip', ['route', 'replace', podCidr, 'via', this.address]);
  }

  /** PID of the node's first process. */
  get init(): number {
    return this.#record.init;
  }

  /** Runs a command as root in the node's namespaces. @returns its stdout */
  async inside(argv: readonly string[]): Promise<string> {
    const { stdout } = await execa('nsenter', nsenterArgs(this.#record.init, argv));
    return stdout;
  }
}

/**
 * Returns the node when it is Ready, and starts it if necessary: 10 s, and minutes for the first build on a
 * machine. The node ends with the site.
 */
export async function ensureNode(site: Site): Promise<TestNode> {
  return locked(async () => {
    const record = await startNode(site);
    const images = new ContainerdImages(nodeDirectory, record.init, await nodeBinaries());
    return new TestNode(site, record, images);
  });
}

function locked<T>(work: () => Promise<T>): Promise<T> {
  const waiting = (): void => say('waiting for another process that uses the node');
  return withLock(`${siteDirectory}.node.lock`, waiting, work);
}
