import { join } from 'node:path';
import { execa, ExecaError } from 'execa';

const source = new URL('../../etc/selinux', import.meta.url).pathname;

/**
 * Compiles the policy module of `etc/selinux` in a format that RHEL 8 and later read.
 *
 * @param directory an existing directory
 * @returns the path of `berth.pp` in it
 * @throws Error if the compiler is missing, or refuses the module
 */
export async function selinuxModule(directory: string): Promise<string> {
  const [compiled, file] = [join(directory, 'berth.mod'), join(directory, 'berth.pp')];
  try {
    // 19 is the newest that RHEL 8's libsepol knows.
    await execa('checkmodule', ['-M', '-m', '-c', '19', '-o', compiled, join(source, 'berth.te')]);
    await execa('semodule_package', ['-o', file, '-m', compiled, '-f', join(source, 'berth.fc')]);
  } catch (thrown) {
    if (thrown instanceof ExecaError && thrown.code === 'ENOENT')
      throw new Error(
        `${thrown.shortMessage}\nnext: install checkmodule and semodule_package (Debian: checkpolicy, semodule-utils; RHEL: checkpolicy, policycoreutils), or make no .rpm: npm run package -- --format deb --format tar`,
        { cause: thrown },
      );
    throw thrown;
  }
  return file;
}
