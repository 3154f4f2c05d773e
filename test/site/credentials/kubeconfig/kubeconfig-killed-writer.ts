/**
 * Writes a kubeconfig as the hook does and kills itself (SIGKILL) just before its STEP-th call of the file
 * system. Arguments: `HOME UID STEP`. Exits with 0 if there are fewer calls.
 */
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { updateKubeconfig } from '../../../../src/credentials/kubeconfig/update-kubeconfig.ts';
import { options } from './kubeconfig-home.ts';

const [home = '', uid = '', last = ''] = process.argv.slice(2);
const user = {
  name: 'ann',
  uid: Number(uid),
  gid: Number(uid),
  groups: [Number(uid)],
  home,
  shell: '/bin/sh',
};
await Promise.all([
  import('../../../../src/credentials/kubeconfig/kubeconfig-edit.ts'),
  import('../../../../src/credentials/kubeconfig/kubeconfig-lock.ts'),
  import('../../../../src/system/atomic-file.ts'),
]);

let steps = 0;
const step = (): void => {
  if (++steps === Number(last)) process.kill(process.pid, 'SIGKILL');
};

const open = promises.open.bind(promises);
watch(promises as unknown as Calls, [
  ...['lstat', 'mkdir', 'readdir', 'readlink', 'realpath', 'rename', 'stat', 'symlink', 'unlink'],
]);
promises.open = async (...args) => {
  step();
  const file: FileHandle = await open(...args);
  watch(file as unknown as Calls, ['chmod', 'close', 'readFile', 'stat', 'sync', 'writeFile']);
  return file;
};
syncBuiltinESMExports();

const value = { server: 'https://victim.example.org' };
await updateKubeconfig(user, [{ cluster: { name: 'victim', value } }], options(60_000));

type Calls = Record<string, (...args: unknown[]) => unknown>;

function watch(calls: Calls, names: readonly string[]): void {
  for (const name of names) {
    const original = calls[name]?.bind(calls);
    calls[name] = (...args) => {
      step();
      return original?.(...args);
    };
  }
}
