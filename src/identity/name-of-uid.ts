import { BerthError } from '../errors.ts';

/** getent(1): none of the keys was found. */
const notFound = 2;

/**
 * The name of a UID as NSS has it (files, LDAP, sssd), by getent(1): a service without capabilities
 * cannot become the user for it, as `userOfUid` does.
 *
 * @returns Nothing where there is none, which looks the same while the directory service is down.
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
              exit: 'temporary',
              hint: `See whether sssd or LDAP answers: getent passwd ${uid}`,
              ...(cause && { cause }),
            }),
          );
      },
    );
  });
}
