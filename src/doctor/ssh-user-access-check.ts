import { glob } from 'node:fs/promises';
import { refusingKeyword } from '../sshd-lint/rules/access-findings.ts';
import type { User } from '../identity/user.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { anybody } from '../sshd-lint/lint-connections.ts';
import { effectiveOptions, parseSshdConfigFiles } from '../sshd-lint/sshd-effective.ts';
import { failed, type Finding, ok, skipped } from '../check-result.ts';

const sshd = '/usr/sbin/sshd';
/** The configuration of each sshd of `berth-sshd@.service`. */
const configs = '/etc/ssh/berth/*.conf';

/**
 * Whether an sshd of `berth-sshd@.service` admits the user, by AllowGroups and similar directives, for a
 * connection from an address that no Match block names.
 */
export async function userAccessFinding({ name, uid }: User): Promise<Finding> {
  if (process.geteuid?.() !== 0)
    return skipped('only root can read the effective configuration of sshd');
  const refused: string[] = [];
  const groups = groupNamesOf(name);
  for await (const config of glob(configs)) {
    const { directives } = await parseSshdConfigFiles(config, sshd);
    const connection = { ...anybody, user: name, groups };
    const by = refusingKeyword(
      await effectiveOptions({ sshd, config }, connection, directives),
      connection,
      uid === 0,
    );
    if (by === undefined) return ok(`${config} admits ${name}`);
    refused.push(`${config} (${by})`);
  }
  return refused.length === 0
    ? skipped(`${configs} does not exist; berth sshd lint checks the host's own sshd`)
    : failed(
        `no sshd of Berth admits ${name}: ${refused.join(', ')}`,
        `Change that directive. For AllowGroups, add the user to one of its groups: gpasswd --add ${name} GROUP`,
      );
}
