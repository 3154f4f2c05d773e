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
 * What root hands over to a user's logins, in the user's own run folder: there it counts against the
 * user's own limit, and the user may do with it what they like. Root takes nothing from it but whether it
 * is as it was handed over.
 */
function handoverFolder(runFolder: string): string {
  return `${runFolder}/berth-pods`;
}

/** For what the user's sessions say to each other. */
export function bridgeFolder(runFolder: string): string {
  return `${runFolder}/berth-bridge`;
}

/** For the sockets of the user's forwards: sshd makes some of them before there is a session. */
export function forwardFolders(runFolder: string): SocketFolders {
  return socketFolders(`${runFolder}/berth-forwards`);
}

function accessFile(runFolder: string, cluster: string): string {
  return `${handoverFolder(runFolder)}/${encodeURIComponent(cluster)}.json`;
}

function refusalFile(runFolder: string, cluster: string): string {
  return `${handoverFolder(runFolder)}/${encodeURIComponent(cluster)}.refused`;
}

/** As root. @throws {BerthError} `runtime-directory-missing`, what `writeAtomically` throws */
export async function handOver(user: User, access: PodAccess): Promise<void> {
  await give(user, accessFile, access.cluster, access);
}

/** Why there is no way, for the login to say. @throws as `handOver` */
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

/** As root. False where the user says by a change that it is of no use. */
export async function isAsHandedOver(user: User, access: PodAccess): Promise<boolean> {
  const runFolder = findRunFolder(user);
  if (runFolder === undefined) return false;
  const held = await brieflyAsUser(user, () => readHandover(runFolder, user, access.cluster));
  return JSON.stringify(held) === JSON.stringify(access);
}

/**
 * The user's way to pods, as the login has it; that of the only cluster where none is named.
 *
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

/** A site has a few clusters. */
const mostNames = 256;

/**
 * The user's word that the way is none any more: the cluster does not take its token. PAM's hook then makes
 * one anew at the next login, whatever the time of this one.
 */
export async function spoilHandover(user: User, { cluster }: PodAccess): Promise<void> {
  const runFolder = findRunFolder(user);
  if (runFolder === undefined) return;
  await truncate(accessFile(runFolder, cluster)).catch((error: unknown) => {
    // The last connection was closed meanwhile.
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
    `${name} has no folder for what runs, so no way to pods can be handed over`,
    {
      code: 'runtime-directory-missing',
      exit: 'config',
      hint: `pam_systemd or ${installedPath('hooks/pam-session')} makes it: see the session lines of /etc/pam.d/sshd.`,
    },
  );
}

/** @param refusal What PAM's hook said where it could not hand anything over. */
function missing(refusal: string | undefined, cluster: string | undefined): BerthError {
  const { message, hint } = parsed(refusal);
  const where = cluster === undefined ? '' : ` on the cluster ${cluster}`;
  return new BerthError(
    `there is no way to your pods${where} at the moment${message === undefined ? '' : `: ${message}`}`,
    {
      code: 'pod-access-missing',
      exit: 'temporary',
      hint:
        hint ??
        `${installedPath('hooks/pam-session')} asks the cluster for it at each login: see its line in syslog, and \`berth doctor\`.`,
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
    // The login says what it can.
    return {};
  }
}
