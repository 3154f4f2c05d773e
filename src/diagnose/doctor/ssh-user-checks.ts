import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { failed, type Finding, ok, skipped, warning } from '../../system/errors/check-result.ts';
import { chooseProfile } from '../../config/schema/profile/choose-profile.ts';
import { sessionBackends, type SshSettings } from '../../config/schema/profile/profile.ts';
import { maximumRuntimeDirMiB } from '../../sessions/connections/mount-runtime-dir.ts';
import { findRuntimeDir, runtimeDirCandidates } from '../../sessions/connections/runtime-dir.ts';
import type { User } from '../../system/identity/nss.ts';
import { parseSubordinateFile } from '../../system/identity/subordinate-file.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { profileMounts } from '../../sessions/request/session-environment.ts';
import { hostConfig, kindFile, kindNames } from '../../setup/sshd-kinds/kind.ts';
import { endpointsOf } from '../../setup/sshd-kinds/rules/sshd-endpoints.ts';
import { anybody } from '../../setup/sshd-lint/lint-connections.ts';
import { refusingKeyword } from '../../setup/sshd-lint/rules/access-findings.ts';
import { effectiveOptions, parseSshdConfigFiles } from '../../setup/sshd-lint/sshd-effective.ts';
import type { SubidPlan } from '../../setup/subid/plan-subids.ts';
import { getent } from '../../system/getent.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { ifExists } from '../../system/if-present.ts';

/** Entries of /etc/subuid and /etc/subgid that overlap, that contain an ID of somebody or that podman refuses. */
export function subidFilesFinding({ problems, warnings, notes }: SubidPlan): Finding {
  const all = [...problems.filter(({ user }) => user === undefined), ...warnings];
  const worst = all.find(({ code }) => code !== 'subid-entry-malformed');
  const first = worst ?? all[0];
  if (first !== undefined)
    return (worst === undefined ? warning : failed)(
      `${first.message}${all.length === 1 ? '' : ` (and ${all.length - 1} more)`}`,
      'Correct it by hand; `berth subid plan -o json` lists all of them. Containers of a user whose range changes must be removed.',
    );
  const [note] = notes;
  return note === undefined
    ? ok('the ranges in /etc/subuid and /etc/subgid do not overlap')
    : warning(note, 'Assign the ranges there, or set `subid: files` in nsswitch.conf.');
}

/** Whether the user has a range in both files that is large enough for the user's own ID. */
export function userSubidFinding(plan: SubidPlan, user: User): Finding {
  const { complete, notes } = plan;
  const { name } = user;
  const [first] = complete > 0 ? tooFewIds(plan, user) : [];
  if (first !== undefined)
    return warning(
      `${name} has ${first.what} ${first.id}, but only ${first.count} IDs in ${first.file}: at the first login podman copies the whole image instead of mapping the IDs`,
      `Remove the containers of ${name}, then run berth subid apply with a --size greater than ${first.id}.`,
    );
  if (complete > 0) return ok(`${name} has subordinate UIDs and GIDs`);
  const [note] = notes;
  if (note !== undefined) return skipped(note);
  return failed(
    `${name} has no range in /etc/subuid or /etc/subgid`,
    `Run berth subid plan ${name}, then berth subid apply ${name}`,
  );
}

/**
 * With keep-id the user's own ID is mapped among the subordinate ones. If the range is smaller than that ID,
 * the map has a gap, and containers/storage copies the image instead of mapping it (IsContiguous).
 */
function tooFewIds({ files }: SubidPlan, { name, uid, gid }: User) {
  const kinds = [
    { what: 'UID', id: uid, file: files.subuid },
    { what: 'GID', id: gid, file: files.subgid },
  ];
  return kinds.flatMap(({ what, id, file: { path, text } }) => {
    const count = parseSubordinateFile(text)
      .entries.filter(({ owner }) => owner === name || owner === String(uid))
      .reduce((sum, entry) => sum + entry.count, 0);
    return count < id ? [{ what, id, count, file: path }] : [];
  });
}

/**
 * The runtime directory of the user, and whether containers can outlive the last connection: without
 * lingering, systemd ends the service manager of a user with the last login.
 */
export function runtimeDirFinding(
  user: User,
  { profiles, podman }: SshSettings,
  pamIsThere: boolean,
): Finding {
  const found = findRuntimeDir(user);
  if (found === undefined && !pamIsThere)
    return failed(
      `${user.name} has no runtime directory: ${runtimeDirCandidates(user).join(', ')}`,
      `pam_systemd or ${installedPath('hooks/pam-session')} creates it at each login: check the session lines of /etc/pam.d/sshd.`,
    );
  const stays = [...profiles.values()].some(({ lifetime }) => lifetime.kind !== 'connection');
  if (
    stays &&
    podman.cgroupManager === 'systemd' &&
    !existsSync(`/var/lib/systemd/linger/${user.name}`)
  )
    return warning(
      `lingering is off for ${user.name}: systemd stops the user's containers at the last logout, although profiles keep them running`,
      `Run loginctl enable-linger ${user.name}`,
    );
  return ok(whichRuntimeDir(user, found));
}

function whichRuntimeDir(user: User, found: string | undefined): string {
  const [mounted, ofSystemd] = runtimeDirCandidates(user);
  const ours = `${mounted} (a tmpfs of ${maximumRuntimeDirMiB} MiB that ${installedPath('hooks/pam-session')} mounts)`;
  if (found === undefined)
    return `the next login of ${user.name} creates ${ofSystemd} (pam_systemd), or else ${ours}`;
  return found === ofSystemd
    ? `${user.name} uses ${ofSystemd} (pam_systemd)`
    : `${user.name} uses ${ours}: ${ofSystemd} was missing or accessible to others when the first of the open sessions began`;
}

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

/**
 * Whether an sshd of `berth-sshd@.service`, or without one the host's own, admits the user, by AllowGroups and similar
 * directives, for a connection from an address that no Match block names.
 *
 * @param port only those that listen on it, if there are such
 */
export async function userAccessFinding({ name, uid }: User, port?: number): Promise<Finding> {
  if (process.geteuid?.() !== 0)
    return skipped('only root can read the effective configuration of sshd');
  const refused: string[] = [];
  const groups = groupNamesOf(name);
  let next = `Change that directive. For AllowGroups, make Berth the login shell first (usermod --shell ${installedPath('shell/login')} ${name}): with another one, the account could run it on this host.`;
  const kinds = kindNames().map(kindFile);
  const present = (kinds.length > 0 ? kinds : [hostConfig]).filter((file) => existsSync(file));
  const all = await Promise.all(
    present.map(async (config) => {
      const { directives } = await parseSshdConfigFiles(config, sshd);
      const global = directives.filter(({ criteria }) => criteria.length === 0);
      const isAt = endpointsOf(global).some((endpoint) => endpoint.port === port);
      return { config, directives, isAt };
    }),
  );
  const listening = all.filter(({ isAt }) => isAt);
  for (const { config, directives } of listening.length > 0 ? listening : all) {
    const connection = {
      ...anybody,
      ...(port !== undefined && { localPort: port }),
      user: name,
      groups,
    };
    const by = refusingKeyword(
      await effectiveOptions({ sshd, config }, connection, directives),
      connection,
      uid === 0,
    );
    if (by === undefined) return ok(`${config} admits ${name}`);
    if (by === 'AllowGroups' && config === kindFile('login'))
      next = `Run \`berth init login-node --user ${name}\`: it makes Berth the login shell before sshd admits the account.`;
    refused.push(`${config} (${by})`);
  }
  return refused.length === 0
    ? skipped('this host has no configuration of an sshd')
    : failed(`no sshd with Berth's sessions admits ${name}: ${refused.join(', ')}`, next);
}
