import { existsSync } from 'node:fs';
import type { SshSettings } from '../config/profile/profile.ts';
import { parseSubordinateFile } from '../identity/subordinate-file.ts';
import type { User } from '../identity/user.ts';
import { findRunFolder, runFoldersOf } from '../ssh/connections/runtime-dir.ts';
import { mostRunFolderMiB } from '../ssh/connections/runtime-dir-mount.ts';
import type { SubidPlan } from '../subid/plan.ts';
import { failed, type Finding, ok, skipped, warning } from '../finding.ts';
import { installedPath } from '../installed-path.ts';

/** Faults of /etc/subuid and /etc/subgid that open one's files to another, or that podman stops at. */
export function subidFilesFinding({ warnings, notes }: SubidPlan): Finding {
  const [first, ...more] = warnings;
  if (first !== undefined)
    return (first.code === 'subid-entry-malformed' ? warning : failed)(
      `${first.message}${more.length === 0 ? '' : ` (and ${more.length} more)`}`,
      'Mend it by hand: see `berth subid plan` for all of them. Containers of whom a range was taken must be removed.',
    );
  const [note] = notes;
  return note === undefined
    ? ok('the ranges in /etc/subuid and /etc/subgid overlap nothing')
    : warning(note, 'Give users their ranges there, or say `subid: files` in nsswitch.conf.');
}

/** The user has a range in both files, and one without a hole where the user's own ID goes. */
export function userSubidFinding(plan: SubidPlan, user: User): Finding {
  const { complete, notes } = plan;
  const { name } = user;
  const [first] = complete > 0 ? tooFewIds(plan, user) : [];
  if (first !== undefined)
    return warning(
      `${name} has ${first.what} ${first.id}, and ${first.count} in ${first.file}: podman copies the whole image for a number above that, at the first login`,
      `berth subid apply --size with more than ${first.id}; containers of ${name} must be removed before.`,
    );
  if (complete > 0) return ok(`${name} has subordinate UIDs and GIDs`);
  const [note] = notes;
  if (note !== undefined) return skipped(note);
  return failed(
    `${name} has no range in /etc/subuid or none in /etc/subgid`,
    `berth subid plan ${name}; then berth subid apply ${name}`,
  );
}

/**
 * With keep-id the user's own number has a place among the subordinate ones; where they do not reach up
 * to it, the map has a hole, and containers/storage shifts no image through one (IsContiguous).
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
 * The folder for what is gone after a reboot, and whether a container that is to stay may stay:
 * systemd ends a user's service manager with the last login of one who does not linger.
 */
export function runFolderFinding(
  user: User,
  { profiles, podman }: SshSettings,
  pamIsThere: boolean,
): Finding {
  const found = findRunFolder(user);
  if (found === undefined && !pamIsThere)
    return failed(
      `${user.name} has no folder for what runs: ${runFoldersOf(user).join(', ')}`,
      `pam_systemd or ${installedPath('hooks/pam-session')} makes it at each login: see the session lines of /etc/pam.d/sshd.`,
    );
  const stays = [...profiles.values()].some(({ lifetime }) => lifetime.kind !== 'connection');
  if (
    stays &&
    podman.cgroupManager === 'systemd' &&
    !existsSync(`/var/lib/systemd/linger/${user.name}`)
  )
    return warning(
      `${user.name} does not linger: systemd ends a container that is to stay with the last login`,
      `loginctl enable-linger ${user.name}`,
    );
  return ok(whichRunFolder(user, found));
}

function whichRunFolder(user: User, found: string | undefined): string {
  const [ofSystemd, mounted] = runFoldersOf(user);
  const ours = `${mounted} (a tmpfs of ${mostRunFolderMiB} MiB that ${installedPath('hooks/pam-session')} mounts)`;
  if (found === undefined)
    return `the next login of ${user.name} makes ${ofSystemd} (pam_systemd), or else ${ours}`;
  return found === ofSystemd
    ? `${user.name} uses ${ofSystemd} (pam_systemd)`
    : `${user.name} uses ${ours}: ${ofSystemd} is missing, or not the user's alone`;
}
