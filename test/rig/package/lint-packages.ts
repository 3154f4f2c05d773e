import { run, type ClientResult } from '../../../src/companions/verify/run-client.ts';

const settings = new URL('../../../packaging/rpmlint.toml', import.meta.url).pathname;
/** Milliseconds. */
const timeout = 300_000;

/**
 * Runs a command on a copy of the directories of the packages. rpmlint unpacks them with cpio(1), and the names in those of nfpm
 * are absolute, so it would write to the machine's own.
 */
const onCopy = `
  copy=$(mktemp -d); mount -t tmpfs tmpfs "$copy"
  for name in usr etc; do
    mkdir "$copy/$name" "$copy/$name.work"
    mount -t overlay -o "lowerdir=/$name,upperdir=$copy/$name,workdir=$copy/$name.work" overlay "/$name"
  done
  "$@"; umount --lazy "$copy"; rmdir "$copy"`;

/** Runs lintian on .deb files and rpmlint on .rpm files, both at the same time. */
export async function lintPackages(
  files: readonly string[],
): Promise<{ readonly lintian: ClientResult; readonly rpmlint: ClientResult }> {
  const [debs, rpms] = ['.deb', '.rpm'].map((end) => files.filter((name) => name.endsWith(end)));
  const lint = ['rpmlint', '-c', settings, ...(rpms ?? [])];
  const [lintian, rpmlint] = await Promise.all([
    run('lintian', ['--tag-display-limit', '0', ...(debs ?? [])], { timeout }),
    run('unshare', ['--mount', 'sh', '-euc', onCopy, 'sh', ...lint], { timeout }),
  ]);
  return { lintian, rpmlint };
}
