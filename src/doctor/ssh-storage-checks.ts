import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { failed, type Finding, ok, warning } from '../finding.ts';
import { there } from './if-exists.ts';

/**
 * f_type of statfs(2): what containers cannot live on. Rootless podman makes files there as IDs that a
 * file server does not know, and locks and extended attributes that it does not keep.
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

/** The folder is root's: who could write to it could put an image under everybody. */
export async function storageFinding(storage: string): Promise<Finding> {
  const status = await there(stat(storage));
  if (status === undefined)
    return failed(`${storage} is not there`, 'Run `berth images pull`: it makes the folder.');
  if (!status.isDirectory()) return failed(`${storage} is no folder`, 'Name a folder in ssh.yml.');
  for (let part = storage; ; part = dirname(part)) {
    const { uid, mode } = await stat(part);
    const sticky = part !== storage && (mode & 0o1000) !== 0;
    if (uid !== 0 || ((mode & 0o022) !== 0 && !sticky))
      return failed(
        `others than root can change ${storage}: ${part} is of UID ${uid}, mode ${octal(mode)}`,
        `chown root ${part}; chmod 755 ${part}`,
      );
    if ((mode & 0o001) === 0)
      return failed(`users cannot enter ${part} (mode ${octal(mode)})`, `chmod 755 ${part}`);
    if (part === dirname(part)) break;
  }
  return ok(`${storage} is root's, and users can enter it`);
}

/** What the folder lies on; the type of one that is not there is its parent's. */
export async function fileSystemFinding(storage: string): Promise<Finding> {
  let folder = storage;
  while (folder !== dirname(folder) && (await there(stat(folder))) === undefined)
    folder = dirname(folder);
  return fileSystemOf(storage, await statfs(folder));
}

/** The judgement alone, for types that a test has no server of. */
export function fileSystemOf(
  storage: string,
  {
    type,
    bavail,
    bsize,
  }: { readonly type: number; readonly bavail: number; readonly bsize: number },
): Finding {
  // 32 bits of it count, and some architectures give them a sign.
  const name = remote[type >>> 0];
  if (name !== undefined)
    return failed(
      `${storage} is on ${name}, where rootless containers do not work`,
      'Move it to a disk of this host: `storage` in ssh.yml.',
    );
  if (type >>> 0 === tmpfs)
    return warning(
      `${storage} is in memory: images and sessions are gone after a reboot`,
      'Move it to a disk of this host: `storage` in ssh.yml.',
    );
  const free = (bavail * bsize) / 2 ** 30;
  return free < 1
    ? warning(`${storage} has ${free.toFixed(1)} GiB left`, 'Make room, or `berth images gc`.')
    : ok(`${storage} is on a disk of this host, ${Math.floor(free)} GiB free`);
}

/** The user's folder in it: what PAM's hook, or `berth subid apply --folders`, makes. */
export async function userFolderFinding(
  storage: string,
  { name, uid }: { readonly name: string; readonly uid: number },
): Promise<Finding> {
  const path = `${storage}/users/${uid}`;
  const status = await there(stat(path));
  if (status === undefined)
    return warning(
      `${path} is not there yet: the next login of ${name} makes it`,
      `Or make it now: berth subid apply --folders ${name}`,
    );
  if (!status.isDirectory() || status.uid !== uid)
    return failed(
      `${path} is not a folder of ${name} (UID ${status.uid})`,
      `Look what it is, move it away, then berth subid apply --folders ${name}`,
    );
  return (status.mode & 0o077) === 0
    ? ok(`${path} is closed to others`)
    : failed(`others have access to ${path} (mode ${octal(status.mode)})`, `chmod 700 ${path}`);
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
