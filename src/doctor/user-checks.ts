import { randomBytes } from 'node:crypto';
import { open, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { SiteSettings } from '../config/settings.ts';
import { defaultKubeconfig } from '../config/user-kubeconfig.ts';
import { planKubeconfig } from '../credentials/kubeconfig/kubeconfig-file.ts';
import { isErrno } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { asUser } from '../system/as-user.ts';
import { byKubeconfig } from '../credentials/desired-kubeconfig.ts';
import { type CheckResult, failed, type Finding, ok, runCheck, warning } from '../finding.ts';

/** The account as NSS has it. */
export function accountFinding({ name, uid, gid, groups, home }: User): Finding {
  return ok(`${name}: UID ${uid}, GID ${gid}, ${groups.length} groups, home ${home}`);
}

/**
 * The user's home, seen with the user's own rights. Run this last: the whole process is the user
 * meanwhile, and a file system that hangs keeps it so.
 */
export async function checkHome(
  user: User,
  settings: SiteSettings,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const home = await runCheck({ id: 'user-home', run: () => homeFinding(user) }, timeoutMs);
  const written = settings.clusters.filter(({ credentials }) => credentials.mode !== 'none');
  const results = [home];
  // One after the other: each is the user meanwhile.
  for (const file of byKubeconfig(written.map((cluster) => ({ cluster }))).keys()) {
    const run = (): Promise<Finding> => kubeconfigFinding(user, file);
    results.push(await runCheck({ id: 'user-kubeconfig', run }, timeoutMs));
  }
  return results;
}

/** access(2) would judge the real user, who is root: so a file is made and taken away again. */
function homeFinding(user: User): Promise<Finding> {
  return asUser(user, () => folderFinding(user, resolve(user.home, '.kube')));
}

/** Whether a file could be made in a folder of the home, or in the nearest one above that is there. */
async function folderFinding(user: User, wanted: string): Promise<Finding> {
  let folder = wanted;
  try {
    while (!(await isThere(folder))) {
      if (folder === resolve(user.home))
        return failed(
          `the home of ${user.name} is not there: ${user.home}`,
          'Is the file system mounted on this host, and is the home made (pam_mkhomedir)?',
        );
      folder = dirname(folder);
    }
    const trial = join(folder, `.berth-doctor-${randomBytes(8).toString('hex')}`);
    await (await open(trial, 'wx', 0o600)).close();
    await unlink(trial);
  } catch (error) {
    if (!isErrno(error)) throw error;
    return failed(
      `${user.name} cannot write into ${folder}: ${error.code ?? ''}`,
      error.code === 'EACCES'
        ? `See owners and modes as that user: namei -l ${folder}`
        : 'See `df`, `df -i` and `quota` for that file system.',
    );
  }
  return ok(`${user.name} can write into ${folder}`);
}

async function kubeconfigFinding(user: User, file: string): Promise<Finding> {
  const { path, text, mode } = await planKubeconfig(user, [], file);
  // `~/.kube` is what the check of the home tried.
  const folder =
    file === defaultKubeconfig
      ? undefined
      : await asUser(user, () => folderFinding(user, dirname(path)));
  if (folder?.status === 'failed') return folder;
  if (text === '') return ok(`${path} is not there yet: the next login makes it`);
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
