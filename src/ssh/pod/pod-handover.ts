import { mkdir, truncate } from 'node:fs/promises';
import { BerthError, isErrno } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import { writeAtomically } from '../../system/atomic-file.ts';
import { readUserFile, someNamesIn } from '../../system/user-file.ts';
import { brieflyAsUser } from '../../system/briefly-as-user.ts';
import { longestAccess, podAccessIn, type PodAccess } from './pod-grant-file.ts';
import { findRunFolder } from '../connections/runtime-dir.ts';
import { socketFolders, type SocketFolders } from './forwarding/socket-directories.ts';
import { installedPath } from '../../installed-path.ts';

/**
 * The directory for what root hands over to a user's logins, in the user's runtime directory: there it counts against the
 * user's quota. The user may change it. Root only checks whether it is unchanged.
 */
function handoverFolder(runFolder: string): string {
  return `${runFolder}/berth-pods`;
}

/** The directory for sockets and locks that the user's sessions share. */
export function bridgeFolder(runFolder: string): string {
  return `${runFolder}/berth-bridge`;
}

/** The directories for the sockets of the user's forwards. sshd creates some of them before the session starts. */
export function forwardFolders(runFolder: string): SocketFolders {
  return socketFolders(`${runFolder}/berth-forwards`);
}

function accessFile(runFolder: string, cluster: string): string {
  return `${handoverFolder(runFolder)}/${encodeURIComponent(cluster)}.json`;
}

function refusalFile(runFolder: string, cluster: string): string {
  return `${handoverFolder(runFolder)}/${encodeURIComponent(cluster)}.refused`;
}

/** Hands a grant over, as root. @throws {BerthError} `runtime-directory-missing`, the errors of `writeAtomically` */
export async function handOver(user: User, access: PodAccess): Promise<void> {
  await give(user, accessFile, access.cluster, access);
}

/** Hands over why there is no grant, so that the login can report it. @throws as `handOver` */
export async function handOverRefusal(
  user: User,
  cluster: string,
  { message, hint }: BerthError,
): Promise<void> {
  await give(user, refusalFile, cluster, { message, hint });
}

async function give(
  user: User,
  fileOf: (runFolder: string, cluster: string) => string,
  cluster: string,
  content: object,
): Promise<void> {
  const runFolder = findRunFolder(user);
  if (runFolder === undefined) throw noRunFolder(user);
  await brieflyAsUser(user, async () => {
    await mkdir(handoverFolder(runFolder), { mode: 0o700 }).catch((error: unknown) => {
      if (!isErrno(error, 'EEXIST')) throw error;
    });
    const { local, remote } = forwardFolders(runFolder);
    for (const folder of [local, remote]) await mkdir(folder, { recursive: true, mode: 0o700 });
    const options = { mode: 0o600, replaceable: true };
    await writeAtomically(fileOf(runFolder, cluster), JSON.stringify(content), options);
  });
}

/** Whether the user still has the grant as it was handed over. The login truncates one that the cluster refuses. */
export async function isAsHandedOver(user: User, access: PodAccess): Promise<boolean> {
  const runFolder = findRunFolder(user);
  if (runFolder === undefined) return false;
  const held = await brieflyAsUser(user, () => readHandover(runFolder, user, access.cluster));
  return JSON.stringify(held) === JSON.stringify(access);
}

/**
 * Reads the user's grant, as the login.
 *
 * @param cluster any cluster if absent
 * @throws {BerthError} `pod-access-missing`
 */
export async function handedOver(user: User, cluster?: string): Promise<PodAccess> {
  const runFolder = findRunFolder(user);
  if (runFolder === undefined) throw missing(undefined, cluster);
  const names = await someNamesIn(handoverFolder(runFolder), mostNames);
  const clusters = (end: string): string[] =>
    names.filter((name) => name.endsWith(end)).map((name) => name.slice(0, -end.length));
  for (const name of cluster === undefined ? clusters('.json') : [encodeURIComponent(cluster)]) {
    const access = await readHandover(runFolder, user, decodeURIComponent(name));
    if (access !== undefined) return access;
  }
  const refused = cluster ?? clusters('.refused').map(decodeURIComponent)[0];
  throw missing(refused && (await readText(refusalFile(runFolder, refused), user)), cluster);
}

/** A site has a few clusters, so this is never reached. */
const mostNames = 256;

/**
 * Marks a grant as invalid, because the cluster does not accept its token. PAM's hook then creates a new one at the next
 * login, even if this one has not expired.
 */
export async function spoilHandover(user: User, { cluster }: PodAccess): Promise<void> {
  const runFolder = findRunFolder(user);
  if (runFolder === undefined) return;
  await truncate(accessFile(runFolder, cluster)).catch((error: unknown) => {
    // The user's last connection was closed meanwhile.
    if (!isErrno(error, 'ENOENT')) throw error;
  });
}

async function readHandover(
  runFolder: string,
  user: User,
  cluster: string,
): Promise<PodAccess | undefined> {
  return podAccessIn(await readText(accessFile(runFolder, cluster), user));
}

async function readText(path: string, { uid }: User): Promise<string | undefined> {
  try {
    return (await readUserFile(path, { uid, maximumBytes: longestAccess }))?.toString('utf8');
  } catch (error) {
    if (error instanceof BerthError) return undefined;
    throw error;
  }
}

function noRunFolder({ name }: User): BerthError {
  return new BerthError(
    `${name} has no runtime directory, so the access to pods cannot be handed over`,
    {
      code: 'runtime-directory-missing',
      exit: 'config',
      hint: `pam_systemd or ${installedPath('hooks/pam-session')} creates it: check the session lines of /etc/pam.d/sshd.`,
    },
  );
}

/** @param refusal what PAM's hook handed over in place of a grant */
function missing(refusal: string | undefined, cluster: string | undefined): BerthError {
  const { message, hint } = parsed(refusal);
  const where = cluster === undefined ? '' : ` on the cluster ${cluster}`;
  return new BerthError(
    `your pods${where} cannot be reached at the moment${message === undefined ? '' : `: ${message}`}`,
    {
      code: 'pod-access-missing',
      exit: 'temporary',
      hint:
        hint ??
        `${installedPath('hooks/pam-session')} asks the cluster for access at each login: check its lines in syslog, and run \`berth doctor\`.`,
      ...(cluster === undefined ? {} : { fields: { cluster } }),
    },
  );
}

function parsed(refusal: string | undefined): {
  readonly message?: string;
  readonly hint?: string;
} {
  try {
    return JSON.parse(refusal ?? '{}') as { message: string; hint: string };
  } catch {
    // Reported without a reason.
    return {};
  }
}
