import { BerthError } from '../errors/berth-error.ts';

/** getent(1): none of the keys was found. */
const notFound = 2;

/**
 * The name of a UID from NSS (files, LDAP, sssd), with getent(1), for a service without capabilities: it cannot change its
 * UID as `userOfUid` does.
 *
 * @returns undefined if there is none; this cannot be told from a directory service that is down
 * @throws {BerthError} `nss-failed`
 */
export async function nameOfUid(uid: number): Promise<string | undefined> {
  const { runProgram } = await import('../run-program.ts');
  const words = ['passwd', String(uid)];
  const { error: cause, stdout } = await runProgram('/usr/bin/getent', words, { timeoutMs: 5_000 });
  const [name = '', , found] = stdout.split(':');
  if (cause === undefined && name !== '' && found === String(uid)) return name;
  if (cause?.code === notFound) return undefined;
  throw new BerthError('nss-failed', `looking up UID ${uid} in NSS failed`, {
    cause,
  });
}

/** For people: the name, or `UID 1000` where there is none or NSS cannot say. */
export async function shownNameOfUid(uid: number): Promise<string> {
  return (await nameOfUid(uid).catch(() => undefined)) ?? `UID ${uid}`;
}
