import type { BerthError, ErrorCode } from '../../errors.ts';
import type { Profile, ProfileRule, SshSettings } from './profile.ts';
import { rulesAudience } from './rule-audience.ts';

/** Who comes, and at which door. */
export interface ProfileRequest {
  readonly user: string;
  /** Names of all the user's groups, the primary one among them. */
  readonly groups: readonly string[];
  /** sshd's port that the connection came in at; absent where it is not known: no rule with ports fits. */
  readonly port?: number | undefined;
  /** Of `--profile`, root's word. */
  readonly wanted?: string | undefined;
}

/** `reason` is one sentence for plans and the log; it begins in lower case and has no full stop. */
export type ProfileChoice =
  | { readonly kind: 'profile'; readonly profile: Profile; readonly reason: string }
  | {
      readonly kind: 'refuse';
      /** `profile-none`, `profile-missing`, or the code of the profile's own error. */
      readonly code: ErrorCode;
      readonly reason: string;
      /** Where a broken profile is why. */
      readonly error?: BerthError;
    }
  | { readonly kind: 'host-shell'; readonly reason: string; readonly error?: BerthError };

/**
 * Which profile the user gets. `--profile` counts where the user is in the profile's groups, then the
 * first rule that fits, then the site's policy. A rule fits when all that it names fits and the user
 * is in its profile's groups.
 *
 * A broken profile is no reason to give somebody another one, which may allow more: its users are
 * refused, except for members of `hostShellGroups`, who may have to mend it.
 */
export function chooseProfile(settings: SshSettings, request: ProfileRequest): ProfileChoice {
  const { wanted } = request;
  if (wanted !== undefined) {
    const choice = choiceOf(settings, wanted, request, `--profile ${wanted}`);
    if (choice !== undefined) return choice;
  }
  for (const [index, rule] of settings.rules.entries()) {
    const fits = fittingPart(rule, request);
    if (fits === undefined) continue;
    const because = `rule ${index + 1} (${fits}) gives ${rule.profile}`;
    const choice = choiceOf(settings, rule.profile, request, because);
    if (choice !== undefined) return onBackend(choice, rule);
  }
  const audience = rulesAudience(settings);
  const because =
    wanted === undefined ? audience : `not in the groups of ${wanted}, and ${audience}`;
  if (settings.otherwise === 'host-shell') {
    const group = sharedGroup(settings.hostShellGroups, request);
    if (group !== undefined) {
      return { kind: 'host-shell', reason: `${because}; ${group} is in host_shell_groups` };
    }
  }
  return { kind: 'refuse', code: 'profile-none', reason: because };
}

function onBackend(choice: ProfileChoice, { backend }: ProfileRule): ProfileChoice {
  if (choice.kind !== 'profile' || backend === undefined) return choice;
  return { ...choice, profile: { ...choice.profile, backend } };
}

/** @returns Nothing where the profile is for others. */
function choiceOf(
  settings: SshSettings,
  name: string,
  request: ProfileRequest,
  because: string,
): ProfileChoice | undefined {
  const profile = settings.profiles.get(name);
  const broken = settings.broken.get(name);
  const groups = (profile ?? broken)?.groups;
  const group = groups === undefined ? undefined : sharedGroup(groups, request);
  if (groups !== undefined && group === undefined) return undefined;
  const reason = group === undefined ? because : `${because}; the user is in ${group}`;
  if (profile !== undefined) return { kind: 'profile', profile, reason };

  const what = broken === undefined ? 'there is no such profile' : 'that profile is broken';
  const error = broken === undefined ? {} : { error: broken.error };
  const glass = sharedGroup(settings.hostShellGroups, request);
  if (glass !== undefined) {
    const why = `${reason}, but ${what}; ${glass} is in host_shell_groups`;
    return { kind: 'host-shell', reason: why, ...error };
  }
  const code = broken?.error.code ?? 'profile-missing';
  return { kind: 'refuse', code, reason: `${reason}, but ${what}`, ...error };
}

/** @returns What of the rule fits, in words; nothing where a part of it does not. */
function fittingPart(
  { users, groups, ports }: ProfileRule,
  request: ProfileRequest,
): string | undefined {
  const fits: string[] = [];
  if (users !== undefined) {
    if (!users.includes(request.user)) return undefined;
    fits.push(`user ${request.user}`);
  }
  if (groups !== undefined) {
    const group = sharedGroup(groups, request);
    if (group === undefined) return undefined;
    fits.push(`group ${group}`);
  }
  if (ports !== undefined) {
    if (request.port === undefined || !ports.includes(request.port)) return undefined;
    fits.push(`port ${request.port}`);
  }
  return fits.length === 0 ? 'everybody' : fits.join(', ');
}

function sharedGroup(
  groups: readonly string[],
  request: Pick<ProfileRequest, 'groups'>,
): string | undefined {
  return groups.find((group) => request.groups.includes(group));
}
