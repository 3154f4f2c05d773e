import { existsSync } from 'node:fs';
import type { SshSettings } from '../config/schema/profile/profile.ts';
import { parseSubordinateFile } from '../identity/subordinate-file.ts';
import type { User } from '../identity/nss.ts';
import { findRuntimeDir, runtimeDirCandidates } from '../connections/runtime-dir.ts';
import { maximumRuntimeDirMiB } from '../connections/mount-runtime-dir.ts';
import type { SubidPlan } from '../subid/plan-subids.ts';
import { failed, type Finding, ok, skipped, warning } from '../check-result.ts';
import { installedPath } from '../installed-path.ts';

/** Entries of /etc/subuid and /etc/subgid that overlap or that podman refuses. */
export function subidFilesFinding({ warnings, notes }: SubidPlan): Finding {
  const [first, ...more] = warnings;
  if (first !== undefined)
    return (first.code === 'subid-entry-malformed' ? warning : failed)(
      `${first.message}${more.length === 0 ? '' : ` (and ${more.length} more)`}`,
      'Correct it by hand; `berth subid plan` lists all of them. Containers of a user whose range changes must be removed.',
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
