import { createHash } from 'node:crypto';
import { execa } from 'execa';

const repository = new URL('../..', import.meta.url).pathname;

/**
 * What the packages contain, as CycloneDX 1.5: the libraries that are bundled, and Node.
 *
 * @param epoch of the document, in seconds since the epoch
 */
export async function softwareBill(version: string, epoch: string): Promise<string> {
  const options = ['--sbom-format=cyclonedx', '--package-lock-only'];
  const [bundled, all] = await Promise.all([bill([...options, '--omit=dev']), bill(options)]);
  const node = all.components.filter(({ name }) => name.startsWith('node-linux-'));
  const components = [...bundled.components, ...node]
    .filter((one, index, list) => list.findIndex(({ purl }) => purl === one.purl) === index)
    .sort((one, other) => (one.purl < other.purl ? -1 : 1));
  const document = { ...bundled, components };
  const hash = createHash('sha256')
    .update(JSON.stringify(components))
    .update(version)
    .digest('hex');
  // A UUID, which has to be the same for the same contents.
  const uuid = hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
  document.serialNumber = `urn:uuid:${uuid}`;
  document.metadata.timestamp = new Date(Number(epoch) * 1000).toISOString();
  return `${JSON.stringify(document, null, 2)}\n`;
}

interface Bill {
  serialNumber: string;
  metadata: { timestamp: string };
  components: { name: string; purl: string }[];
}

async function bill(options: readonly string[]): Promise<Bill> {
  const { stdout } = await execa('npm', ['sbom', ...options], { cwd: repository });
  return JSON.parse(stdout) as Bill;
}
