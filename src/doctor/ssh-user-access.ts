import { glob } from 'node:fs/promises';
import { refusal } from '../sshd-lint/rules/access.ts';
import type { User } from '../identity/user.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { anybody } from '../sshd-lint/lint-connections.ts';
import { effectiveOptions, readSshdConfig } from '../sshd-lint/sshd-effective.ts';
import { failed, type Finding, ok, skipped } from '../finding.ts';

const sshd = '/usr/sbin/sshd';
/** One for each sshd of `berth-sshd@.service`. */
const configs = '/etc/ssh/berth/*.conf';

/**
 * Whether an sshd of Berth's own lets the user in: what AllowGroups and the like say, of a connection that no
 * Match tells apart by its address.
 */
export async function userAccessFinding({ name, uid }: User): Promise<Finding> {
  if (process.geteuid?.() !== 0) return skipped('only root can ask sshd for its configuration');
  const refused: string[] = [];
  const groups = groupNamesOf(name);
  for await (const config of glob(configs)) {
    const { directives } = await readSshdConfig(config);
    const connection = { ...anybody, user: name, groups };
    const by = refusal(
      await effectiveOptions({ sshd, config }, connection, directives),
      connection,
      uid === 0,
    );
    if (by === undefined) return ok(`${config} lets ${name} in`);
    refused.push(`${config} (${by})`);
  }
  return refused.length === 0
    ? skipped(`there is no ${configs}: berth lint sshd judges the host's own sshd`)
    : failed(
        `no sshd of Berth admits ${name}: ${refused.join(', ')}`,
        `Change that directive. For AllowGroups, add the user to a group that it names: gpasswd --add ${name} GROUP`,
      );
}
