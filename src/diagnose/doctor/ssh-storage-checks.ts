import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { failed, type Finding, ok, warning } from '../../system/errors/check-result.ts';
import { octal } from '../../system/config-directories.ts';
import { ifExists } from '../../system/if-present.ts';
import { userDirectoryStatus } from '../../system/path-descriptor.ts';

/**
 * f_type of statfs(2) of file systems on which rootless containers do not work: a file server does not
 * know the subordinate IDs, and does not keep all locks and extended attributes.
 */
const remote: Readonly<Record<number, string | undefined>> = {
  0x6969: 'NFS',
  0x0bd0_0bd0: 'Lustre',
  0x4750_4653: 'GPFS',
  0x1983_0326: 'BeeGFS',
  0x00c3_6400: 'CephFS',
  0x5346_414f: 'AFS',
  0xff53_4d42: 'CIFS',
  0xfe53_4d42: 'SMB',
  0x0102_1997: '9p',
  0x6573_5546: 'FUSE',
};
const tmpfs = 0x0102_1994;

/** The storage directory must belong to root: who can write to it can replace the images of all users. */
export async function storageFinding(storage: string): Promise<Finding> {
  const status = await ifExists(stat(storage));
  if (status === undefined)
    return failed(
      `${storage} does not exist`,
      'Run `berth images pull`: it creates the directory.',
    );
  if (!status.isDirectory())
    return failed(`${storage} is not a directory`, 'Set storage in ssh.yml to a directory.');
  for (let part = storage; ; part = dirname(part)) {
    const { uid, mode } = await stat(part);
    const sticky = part !== storage && (mode & 0o1000) !== 0;
    if (uid !== 0 || ((mode & 0o022) !== 0 && !sticky))
      return failed(
        `users other than root can change ${storage}: ${part} belongs to UID ${uid}, mode ${octal(mode)}`,
        `chown root ${part}; chmod 755 ${part}`,
      );
    if ((mode & 0o001) === 0)
      return failed(`users cannot enter ${part} (mode ${octal(mode)})`, `chmod 755 ${part}`);
    if (part === dirname(part)) break;
  }
  return ok(`${storage} belongs to root, and users can enter it`);
}

/** The file system of the directory, or of its nearest existing parent. */
export async function fileSystemFinding(storage: string): Promise<Finding> {
  let directory = storage;
  while (directory !== dirname(directory) && (await ifExists(stat(directory))) === undefined)
    directory = dirname(directory);
  return fileSystemTypeFinding(storage, await statfs(directory));
}

/** The finding for a type of file system; exported for types that a test cannot mount. */
export function fileSystemTypeFinding(
  storage: string,
  {
    type,
    bavail,
    bsize,
  }: { readonly type: number; readonly bavail: number; readonly bsize: number },
): Finding {
  // 32 bits are significant, and some architectures return them signed.
  const name = remote[type >>> 0];
  if (name !== undefined)
    return failed(
      `${storage} is on ${name}, where rootless containers do not work`,
      'Move it to a disk of this host: `storage` in ssh.yml.',
    );
  if (type >>> 0 === tmpfs)
    return warning(
      `${storage} is a tmpfs: images and sessions are lost at a reboot`,
      'Move it to a disk of this host: `storage` in ssh.yml.',
    );
  const free = (bavail * bsize) / 2 ** 30;
  return free < 1
    ? warning(
        `${storage} has ${free.toFixed(1)} GiB left`,
        'Free space, for example with `berth images gc`.',
      )
    : ok(`${storage} is on a local disk, ${Math.floor(free)} GiB free`);
}

/** The user's storage directory, which `pam-session` or `berth subid apply --directories` creates. */
export function userStorageFinding(
  storage: string,
  { name, uid }: { readonly name: string; readonly uid: number },
): Finding {
  const path = `${storage}/users/${uid}`;
  const status = userDirectoryStatus(path);
  if (status === undefined)
    return warning(
      `${path} does not exist yet: the next login of ${name} creates it`,
      `To create it now: berth subid apply --directories ${name}`,
    );
  if (!status.isDirectory() || status.uid !== uid)
    return failed(
      `${path} is not a directory of ${name} (UID ${status.uid})`,
      `Check what it contains, move it away, then run berth subid apply --directories ${name}`,
    );
  return (status.mode & 0o077) === 0
    ? ok(`only its owner can access ${path}`)
    : failed(`others have access to ${path} (mode ${octal(status.mode)})`, `chmod 700 ${path}`);
}
