import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { publicDirectory } from '../site/directories.ts';
import { installDirectory } from '../site/portal.ts';

/** What `berth render balancer` prints. @param list balancer.yml @throws Error with its message */
export async function renderHaproxyConfig(list: object): Promise<string> {
  const directory = await mkdtemp(join(publicDirectory, 'balancer-list-'));
  try {
    const file = join(directory, 'balancer.yml');
    await writeFile(file, stringify(list), { mode: 0o644 });
    const berth = join(installDirectory, 'berth');
    const rendered = await run(berth, ['render', 'balancer', '--list', file]);
    return assertSuccess('berth render balancer', rendered).stdout.toString();
  } finally {
    await rm(directory, { recursive: true });
  }
}
