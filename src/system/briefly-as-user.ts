import { asRoot, asUser, type Credentials } from './as-user.ts';

/**
 * As `asUser`, and root again when it returns: what follows here is root's work that does not wait for
 * a turn of its own.
 */
export async function brieflyAsUser<T>(user: Credentials, work: () => Promise<T>): Promise<T> {
  try {
    return await asUser(user, work);
  } finally {
    await asRoot(() => undefined);
  }
}
