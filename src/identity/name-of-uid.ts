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
  const { execFile } = await import('node:child_process');
  return await new Promise((resolve, reject) => {
    execFile(
      '/usr/bin/getent',
      ['passwd', String(uid)],
      { timeout: 5_000, env: {} },
      (cause, stdout) => {
        const [name = '', , found] = stdout.split(':');
        if (cause === null && name !== '' && found === String(uid)) resolve(name);
        else if (cause?.code === notFound) resolve(undefined);
        else
          reject(
            new BerthError(`looking up UID ${uid} in NSS failed`, {
              code: 'nss-failed',
              ...(cause && { cause }),
            }),
          );
      },
    );
  });
}

/** For people: the name, or `UID 1000` where there is none or NSS cannot say. */
export async function shownNameOfUid(uid: number): Promise<string> {
  return (await nameOfUid(uid).catch(() => undefined)) ?? `UID ${uid}`;
}
