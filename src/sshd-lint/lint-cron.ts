import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { shownNameOfUid } from '../identity/name-of-uid.ts';
import { directoryNames } from '../system/if-present.ts';
import type { SshdFinding } from './rules/sshd-finding.ts';

/** Of Debian and of Red Hat: crontabs, and jobs of at(1). */
const spools = ['cron/crontabs', 'cron', 'cron/atjobs', 'at'].map((name) => `/var/spool/${name}`);
const firstUserUid = 1000;
const mostNamed = 5;

/**
 * Users with a crontab or a job of at(1) on this host. cron starts their commands with /bin/sh, whatever their shell is, and a
 * session can change the files of the home that those commands run.
 */
export async function cronFindings(): Promise<SshdFinding[]> {
  const uids = spools.flatMap((spool) =>
    directoryNames(spool).flatMap((name) => {
      const status = lstatSync(join(spool, name), { throwIfNoEntry: false });
      return status?.isFile() === true && status.uid >= firstUserUid ? [status.uid] : [];
    }),
  );
  const users = [...new Set(uids)].sort((one, other) => one - other);
  if (users.length === 0) return [];
  const names = await Promise.all(users.slice(0, mostNamed).map(shownNameOfUid));
  const more = users.length > mostNamed ? ' and others' : '';
  return [
    {
      code: 'cron-runs-on-host',
      severity: 'weakness',
      message: `cron and at run commands of ${names.join(', ')}${more} on this host, outside of sessions, and sessions can change the files of the home that these run`,
      closedBy: 'crontab -u NAME -r and atrm for accounts of sessions',
    },
  ];
}
