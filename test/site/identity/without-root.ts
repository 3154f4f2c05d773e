/** What one who is not root gets: gives up root for good as `UID`, then prints the outcomes as JSON. */
import { userInfo } from 'node:os';
import { lookupUser } from '../../../src/system/identity/nss.ts';
import { asUser } from '../../../src/system/as-user.ts';

const uid = Number(process.argv[2]);
if (process.getuid?.() === 0) {
  process.setgroups?.([uid]);
  process.setgid?.(uid);
  process.setuid?.(uid);
}

const self = lookupUser(userInfo().username, { minimumUid: 0 });
process.stdout.write(
  JSON.stringify({
    self,
    root: outcome(() => lookupUser('root', { minimumUid: 0 })),
    ownFiles: await asUser(self, () => Promise.resolve('done')),
    foreignFiles: await asUser({ ...self, uid: 64_499 }, () => Promise.resolve('done')).catch(code),
  }),
);

function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return code(error);
  }
}

function code(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error;
}
