import { glob, stat } from 'node:fs/promises';
import { failed, type Finding, ok, skipped, warning } from '../check-result.ts';
import { chooseProfile } from '../config/schema/profile/choose-profile.ts';
import { sessionBackends, type SshSettings } from '../config/schema/profile/profile.ts';
import type { User } from '../identity/nss.ts';
import { installedPath } from '../installed-path.ts';
import { profileMounts } from '../session/session-environment.ts';
import { anybody } from '../sshd-lint/lint-connections.ts';
import { refusingKeyword } from '../sshd-lint/rules/access-findings.ts';
import { effectiveOptions, parseSshdConfigFiles } from '../sshd-lint/sshd-effective.ts';
import { getent } from '../system/getent.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { ifExists } from '../system/if-present.ts';

/** Whether ssh.yml has rules, and the groups and users that they name exist. */
export async function rulesFinding(settings: SshSettings): Promise<Finding> {
  const { rules, otherwise, hostShellGroups } = settings;
  if (rules.length === 0)
    return failed(
      otherwise === 'refuse'
        ? 'ssh.yml has no rules: nobody gets a session'
        : 'ssh.yml has no rules: only members of host_shell_groups can log in, with a shell on the host',
      'Add one to ssh.yml, such as `rules: [{ profile: NAME }]`.',
    );
  const groups = new Map<string, string>();
  for (const group of hostShellGroups) groups.set(group, 'host_shell_groups of ssh.yml');
  for (const { name, groups: ofProfile = [] } of settings.profiles.values())
    for (const group of ofProfile) groups.set(group, `groups of profile ${name}`);
  const users = new Map<string, string>();
  for (const [index, rule] of rules.entries()) {
    for (const group of rule.groups ?? []) groups.set(group, `rule ${index + 1} of ssh.yml`);
    for (const user of rule.users ?? []) users.set(user, `rule ${index + 1} of ssh.yml`);
  }
  const [noGroups, noUsers] = await Promise.all([
    unknown('group', groups),
    unknown('passwd', users),
  ]);
  const next = 'Correct the name, or check the directory service (sssd, LDAP).';
  if (noGroups.length > 0) return failed(`these groups do not exist: ${noGroups.join(', ')}`, next);
  return noUsers.length > 0
    ? warning(`these users do not exist: ${noUsers.join(', ')}`, next)
    : ok(
        `${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}; all their groups and users exist`,
      );
}

/** `NAME (PLACE)` for each name that the name service (NSS) does not know. */
async function unknown(
  database: 'group' | 'passwd',
  names: ReadonlyMap<string, string>,
): Promise<string[]> {
  const lines = await getent(database, [...names.keys()]);
  const known = new Set(lines.map((line) => line.split(':')[0]));
  return [...names].filter(([name]) => !known.has(name)).map(([name, at]) => `${name} (${at})`);
}

/** Which profile a user gets, at any of the ports that the rules name. */
export function userProfileFinding(settings: SshSettings, { name }: User): Finding {
  const groups = groupNamesOf(name);
  const ports = [undefined, ...settings.rules.flatMap((rule) => rule.ports ?? [])];
  const choices = ports.map((port) => chooseProfile(settings, { user: name, groups, port }));
  const found = choices.find(({ kind }) => kind !== 'refuse') ?? choices[0];
  if (found === undefined) throw new Error('no port was tried');
  if (found.kind === 'profile')
    return ok(`${name} gets profile ${found.profile.name}: ${found.reason}`);
  if (found.kind === 'host-shell') return ok(`${name} gets a shell on the host: ${found.reason}`);
  if (found.code !== 'profile-not-matched')
    return failed(`${name} gets no session: ${found.reason}`, 'See the check ssh-profile above.');
  return failed(
    `${name} is refused: ${found.reason}`,
    `Add a rule for the user to ssh.yml, or put the user into a group of one: ${installedPath('share/docs/ssh-profiles.md')}.`,
  );
}

/** Whether the transfer tools for images without sftp-server or scp are installed. */
export async function transferToolsFinding(): Promise<Finding> {
  const directory = installedPath('files');
  return (await ifExists(stat(directory))) === undefined
    ? warning(
        `${directory} does not exist: scp and sftp fail in images without an sftp-server`,
        'Run `berth images files`.',
      )
    : ok('scp and sftp work in images without an sftp-server');
}

/**
 * Whether the directories that profiles mount exist. Sources with variables of the user are not checked:
 * the user controls what is there, and could make root wait.
 */
export async function mountsFinding({ profiles, rules }: SshSettings): Promise<Finding> {
  for (const profile of profiles.values()) {
    if (!sessionBackends(profile, rules).has('podman')) continue;
    for (const { source, missing } of profileMounts(profile))
      if (
        missing === 'fail' &&
        !source.includes('$') &&
        (await ifExists(stat(source))) === undefined
      )
        return failed(
          `profile ${profile.name} mounts ${source}, which does not exist: its sessions do not start`,
          'Mount the file system on this host, or set `missing: skip` for this mount in the profile.',
        );
  }
  return ok('all directories that profiles mount exist');
}

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
