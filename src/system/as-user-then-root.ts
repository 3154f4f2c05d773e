import { asRoot, asUser, type Credentials } from './as-user.ts';

/**
 * As `asUser`, but the process is root again when it returns, for callers that continue with root's work without `asRoot`.
 */
export async function asUserThenRoot<T>(user: Credentials, work: () => Promise<T>): Promise<T> {
  try {
    return await asUser(user, work);
  } finally {
    await asRoot(() => undefined);
  }
}
