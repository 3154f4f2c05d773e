import { countText } from '../count-text.ts';
import { randomBytes } from 'node:crypto';
import { open, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { SiteSettings } from '../config/schema/settings.ts';
import { defaultKubeconfig } from '../config/schema/kubeconfig-path.ts';
import { planKubeconfig } from '../credentials/kubeconfig/update-kubeconfig.ts';
import { isErrno } from '../errors/berth-error.ts';
import type { User } from '../identity/nss.ts';
import { asUser } from '../system/as-user.ts';
import { groupByKubeconfig } from '../credentials/wanted-kubeconfig-entries.ts';
import { type CheckResult, failed, type Finding, ok, runCheck, warning } from '../check-result.ts';

/** The account as the name service (NSS) has it. */
export function accountFinding({ name, uid, gid, groups, home }: User): Finding {
  return ok(`${name}: UID ${uid}, GID ${gid}, ${countText(groups.length, 'group')}, home ${home}`);
}

/**
 * Checks the user's home with the user's rights. Run this last: the credentials of the whole process are
 * the user's meanwhile, for ever if the file system hangs.
 */
export async function checkHome(
  user: User,
  settings: SiteSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const home = await runCheck({ id: 'user-home', run: () => homeFinding(user) }, timeoutMs);
  const written = settings.clusters.filter(({ credentials }) => credentials.mode !== 'none');
  const results = [home];
  // One after the other: each changes the credentials of the process.
  for (const file of groupByKubeconfig(written.map((cluster) => ({ cluster }))).keys()) {
    const run = (): Promise<Finding> => kubeconfigFinding(user, file);
    results.push(await runCheck({ id: 'user-kubeconfig', run }, timeoutMs));
  }
  return results;
}

/** Creates and removes a file: access(2) would check the real user, who is root. */
function homeFinding(user: User): Promise<Finding> {
  return asUser(user, () => directoryFinding(user, resolve(user.home, '.kube')));
}

/** Whether the user can create a file in a directory of the home, or in its nearest existing parent. */
async function directoryFinding(user: User, wanted: string): Promise<Finding> {
  let directory = wanted;
  try {
    while (!(await isThere(directory))) {
      if (directory === resolve(user.home))
        return failed(
          `the home of ${user.name} does not exist: ${user.home}`,
          'Mount the file system on this host, or create the home (pam_mkhomedir).',
        );
      directory = dirname(directory);
    }
    const trial = join(directory, `.berth-doctor-${randomBytes(8).toString('hex')}`);
    await (await open(trial, 'wx', 0o600)).close();
    await unlink(trial);
  } catch (error) {
    if (!isErrno(error)) throw error;
    return failed(
      `${user.name} cannot write into ${directory}: ${error.code ?? ''}`,
      error.code === 'EACCES'
        ? `Check owners and modes as that user: namei -l ${directory}`
        : 'Check `df`, `df -i` and `quota` for that file system.',
    );
  }
  return ok(`${user.name} can write into ${directory}`);
}

async function kubeconfigFinding(user: User, file: string): Promise<Finding> {
  const { path, text, mode } = await planKubeconfig(user, [], file);
  // The check of the home has tried `~/.kube`.
  const directory =
    file === defaultKubeconfig
      ? undefined
      : await asUser(user, () => directoryFinding(user, dirname(path)));
  if (directory?.status === 'failed') return directory;
  if (text === '') return ok(`${path} does not exist yet: the next login creates it`);
  return (mode & 0o077) === 0
    ? ok(`${path} can be read and changed`)
    : warning(`others can read ${path} (mode 0${mode.toString(8)})`, `chmod 600 ${path}`);
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
}
