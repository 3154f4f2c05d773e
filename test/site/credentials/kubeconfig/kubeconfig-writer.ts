/**
 * Writes a kubeconfig as the hook does, in a separate process, for tests that kill it. Arguments: `HOME UID
 * COUNT NAME`. Prints `ready` once everything is loaded, then writes COUNT times, each time with a new server
 * address. Exits with 3 if one of its writes removed a cluster from the file.
 */
import { existsSync, readFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { parse } from 'yaml';
import { updateKubeconfig } from '../../../../src/credentials/kubeconfig/update-kubeconfig.ts';
import { options } from './kubeconfig-home.ts';

const [home = '', uid = '', count = '', name = ''] = process.argv.slice(2);
const user = {
  name: 'ann',
  uid: Number(uid),
  gid: Number(uid),
  groups: [Number(uid)],
  home,
  shell: '/bin/sh',
};
// Compares both files just before the rename, while it holds the lock.
const { rename } = promises;
promises.rename = async (from, to) => {
  if (String(to).endsWith('/config')) {
    const after = clustersIn(String(from));
    const lost = clustersIn(String(to)).filter((cluster) => !after.includes(cluster));
    if (lost.length > 0) {
      process.stderr.write(`${name} lost ${lost.join()}\n`);
      process.exitCode = 3;
    }
  }
  await rename(from, to);
};
if (Number(count) < 100) syncBuiltinESMExports();

await Promise.all([
  import('../../../../src/credentials/kubeconfig/kubeconfig-edit.ts'),
  import('../../../../src/credentials/kubeconfig/kubeconfig-lock.ts'),
  import('../../../../src/system/atomic-file.ts'),
]);
process.stdout.write('ready\n');
for (let index = 0; index < Number(count); index++) {
  const value = { server: `https://${name}.example.org:${index}` };
  await updateKubeconfig(user, [{ cluster: { name, value } }], options(60_000));
}

function clustersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  const config = parse(readFileSync(path, 'utf8')) as { clusters?: { name: string }[] } | null;
  return (config?.clusters ?? []).map((cluster) => cluster.name);
}
