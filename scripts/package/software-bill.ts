import { createHash } from 'node:crypto';
import { execa } from 'execa';
import { architectures, isArchitecture, lockedNode, type Architecture } from './node-binaries.ts';

const repository = new URL('../..', import.meta.url).pathname;

/**
 * What the packages contain, as CycloneDX 1.5: the libraries that are bundled, and Node.
 *
 * @param epoch of the document, in seconds since the epoch
 */
export async function softwareBill(version: string, epoch: string): Promise<string> {
  const options = ['--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev'];
  const { stdout } = await execa('npm', ['sbom', ...options], { cwd: repository });
  const document = JSON.parse(stdout) as Bill;
  const nodes = Object.keys(architectures).filter(isArchitecture).map(nodeComponent);
  const components = [...document.components, ...(await Promise.all(nodes))]
    .filter(({ purl }, index, all) => all.findLastIndex((one) => one.purl === purl) === index)
    .sort((one, other) => (one.purl < other.purl ? -1 : 1));
  const hash = createHash('sha256')
    .update(JSON.stringify(components))
    .update(version)
    .digest('hex');
  // A UUID, which has to be the same for the same contents.
  const uuid = hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
  document.serialNumber = `urn:uuid:${uuid}`;
  document.metadata.timestamp = new Date(Number(epoch) * 1000).toISOString();
  // npm writes the name of the checkout's directory.
  document.metadata.component = { ...document.metadata.component, name: 'berth', version };
  return `${JSON.stringify({ ...document, components }, null, 2)}\n`;
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

interface Bill {
  serialNumber: string;
  metadata: { timestamp: string; component: object };
  components: Component[];
}

async function nodeComponent(arch: Architecture): Promise<Component> {
  const name = architectures[arch];
  const { version, integrity } = await lockedNode(arch);
  const content = Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
  return {
    ...{ 'bom-ref': `${name}@${version}`, type: 'library', name, version, scope: 'required' },
    ...{ purl: `pkg:npm/${name}@${version}`, hashes: [{ alg: 'SHA-512', content }] },
    ...{ licenses: [{ license: { id: 'MIT' } }] },
  };
}
