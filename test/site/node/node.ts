import { join } from 'node:path';
import { execa } from 'execa';
import { cacheFolder } from '../folders.ts';
import { withLock } from '../lock.ts';
import { say } from '../progress.ts';
import type { Site } from '../site.ts';
import { nodeBinaries } from './binaries.ts';
import { NodeImages, type ImageName } from './images.ts';
import { entering } from './namespaces.ts';
import { nodeFolder, type NodeRecord } from './record.ts';
import { nodeName, startNode } from './start.ts';

/** The real node of the site's cluster: kubelet, containerd and runc in a network of its own. */
export class TestNode {
  /** Its name in the cluster. */
  readonly name = nodeName;
  /** Its InternalIP, which the machine reaches. */
  readonly address: string;
  readonly #record: NodeRecord;
  readonly #images: NodeImages;

  constructor(record: NodeRecord, images: NodeImages) {
    this.#record = record;
    this.#images = images;
    this.address = record.address;
  }

  /** The name of an image of the tests, which containerd then has: no pull is needed. */
  image(name: ImageName): Promise<string> {
    return locked(() => this.#images.ensure(name));
  }

  /** ctr(8) in kubelet's namespace. @returns its stdout */
  ctr(args: readonly string[]): Promise<string> {
    return this.#images.ctr(args);
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
    return new TestNode(record, images);
  });
}

function locked<T>(work: () => Promise<T>): Promise<T> {
  const waiting = (): void => say('waiting for another process to start the node');
  return withLock(join(cacheFolder, 'node.lock'), waiting, work);
}
