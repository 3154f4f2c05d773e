import { stat } from 'node:fs/promises';
import { failed, type Finding } from '../../system/errors/check-result.ts';
import { replaceableFindings } from '../../setup/sshd-lint/lint-file-permissions.ts';
import { ifExists } from '../../system/if-present.ts';

/**
 * What is wrong with a program that is run by root or by users; undefined if nothing is.
 *
 * @param unusable how bad it is if users cannot run it
 */
export async function programFault(
  path: string,
  ifMissing: string,
  unusable = failed,
): Promise<Finding | undefined> {
  const status = await ifExists(stat(path));
  if (status === undefined) return unusable(`${path} does not exist`, ifMissing);
  if (!status.isFile() || (status.mode & 0o001) === 0)
    return unusable(`users cannot run ${path}`, `chmod 755 ${path}`);
  const [open] = await replaceableFindings(path, 'program-writable');
  return open && failed(open.message, open.closedBy);
}
