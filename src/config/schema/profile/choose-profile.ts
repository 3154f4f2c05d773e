import type { BerthError, ErrorCode } from '../../../system/errors/berth-error.ts';
import type { Profile, ProfileRule, SshSettings } from './profile.ts';

/** The user, the port and the profile that a connection asks for. */
export interface ProfileRequest {
  readonly user: string;
  /** Names of all the user's groups, including the primary one. */
  readonly groups: readonly string[];
  /** sshd's port of the connection; undefined if unknown, then no rule with `ports` matches. */
  readonly port?: number | undefined;
  /** The profile of `--profile`, which only root can set. */
  readonly wanted?: string | undefined;
  /** The profile that the client asks for with BERTH_PROFILE: any text. */
  readonly requested?: string | undefined;
}

/** `reason` is one sentence for plans and the log, without a capital and a full stop. */
export type ProfileChoice =
  | { readonly kind: 'profile'; readonly profile: Profile; readonly reason: string }
  | {
      readonly kind: 'refuse';
      /** `profile-not-matched`, `profile-not-offered`, `profile-missing`, or the code of the profile's own error. */
      readonly code: ErrorCode;
      readonly reason: string;
      /** Set if a broken profile is the reason. */
      readonly error?: BerthError;
    }
  | { readonly kind: 'host-shell'; readonly reason: string; readonly error?: BerthError };

/**
 * Chooses the user's profile: the one of `--profile` if the user is in its groups, else that of the first matching
 * rule, else what `otherwise` says. A rule matches if all of its conditions do and the user is in its profile's groups.
 * If the client asks for a profile, only rules for that one count; rules with `on_request` count for no other client.
 *
 * Users of a broken profile are refused instead of getting another one, which may allow more. Members of
 * `hostShellGroups` get a shell on the host, since they may have to repair it.
 */
export function chooseProfile(settings: SshSettings, request: ProfileRequest): ProfileChoice {
  const { wanted, requested } = request;
  if (wanted !== undefined) {
    const choice = choiceOf(settings, wanted, request, `--profile ${wanted}`);
    if (choice !== undefined) return choice;
  }
  for (const [index, rule] of settings.rules.entries()) {
    if (requested === undefined ? rule.onRequest : rule.profile !== requested) continue;
    const fits = fittingPart(rule, request);
    if (fits === undefined) continue;
    const because = `rule ${index + 1} (${fits}) gives ${rule.profile}`;
    const choice = choiceOf(settings, rule.profile, request, because);
    if (choice !== undefined) return onBackend(choice, rule);
  }
  if (requested !== undefined) return notOffered(settings, request, requested);
  const audience = describeRules(settings);
  const because =
    wanted === undefined ? audience : `not in the groups of ${wanted}, and ${audience}`;
  if (settings.otherwise === 'host-shell') {
    const group = sharedGroup(settings.hostShellGroups, request);
    if (group !== undefined) {
      return { kind: 'host-shell', reason: `${because}; ${group} is in host_shell_groups` };
    }
  }
  return { kind: 'refuse', code: 'profile-not-matched', reason: because };
}

function notOffered(
  settings: SshSettings,
  request: ProfileRequest,
  requested: string,
): ProfileChoice {
  const offered = offeredProfiles(settings, request).map(({ name }) => name);
  const reason = `the client asks for the profile ${JSON.stringify(requested.slice(0, 64))}; it can ask for ${offered.length === 0 ? 'none' : offered.join(', ')}`;
  return { kind: 'refuse', code: 'profile-not-offered', reason };
}

/**
 * The profiles that this connection can ask for, each once, on the backend that it would get. With `wanted`, it is that one
 * for users in its groups.
 */
export function offeredProfiles(settings: SshSettings, request: ProfileRequest): Profile[] {
  const { wanted } = request;
  const forced = wanted === undefined ? undefined : choiceOf(settings, wanted, request, '');
  const choices =
    forced !== undefined
      ? [forced]
      : settings.rules
          .filter((rule) => fittingPart(rule, request) !== undefined)
          .flatMap((rule) => {
            const choice = choiceOf(settings, rule.profile, request, '');
            return choice === undefined ? [] : [onBackend(choice, rule)];
          });
  const offered = choices.flatMap((choice) => (choice.kind === 'profile' ? [choice.profile] : []));
  return offered.filter(({ name }, at) => offered.findIndex((other) => other.name === name) === at);
}

function onBackend(choice: ProfileChoice, { backend }: ProfileRule): ProfileChoice {
  if (choice.kind !== 'profile' || backend === undefined) return choice;
  return { ...choice, profile: { ...choice.profile, backend } };
}

/** @returns undefined if the user is not in the profile's groups. */
function choiceOf(
  settings: SshSettings,
  name: string,
  request: ProfileRequest,
  because: string,
): ProfileChoice | undefined {
  const profile = settings.profiles.get(name);
  const broken = settings.broken.get(name);
  const groups = (profile ?? broken)?.groups;
  const group = groups && sharedGroup(groups, request);
  if (groups !== undefined && group === undefined) return undefined;
  const reason = group === undefined ? because : `${because}; the user is in ${group}`;
  if (profile !== undefined) return { kind: 'profile', profile, reason };

  const code = broken?.error.code ?? 'profile-missing';
  const what =
    code === 'profile-missing' ? 'that profile does not exist' : 'that profile is invalid';
  const error = broken === undefined ? {} : { error: broken.error };
  const glass = sharedGroup(settings.hostShellGroups, request);
  if (glass !== undefined) {
    const why = `${reason}, but ${what}; ${glass} is in host_shell_groups`;
    return { kind: 'host-shell', reason: why, ...error };
  }
  return { kind: 'refuse', code, reason: `${reason}, but ${what}`, ...error };
}

/** @returns The conditions of the rule as text; undefined if one of them does not match. */
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

/** More would make the line in syslog too long. */
const mostRules = 5;

/** For users without a matching rule: whom the rules are for, in one line without a full stop. */
function describeRules(settings: SshSettings): string {
  const { rules } = settings;
  if (rules.length === 0) return 'ssh.yml has no rules';
  const each = rules
    .slice(0, mostRules)
    .map((rule, index) => `rule ${index + 1} is for ${audience(rule, settings)}`);
  const more = rules.length > mostRules ? [`and ${rules.length - mostRules} more`] : [];
  return `no rule matches: ${[...each, ...more].join(', ')}`;
}

function audience(rule: ProfileRule, { profiles, broken }: SshSettings): string {
  const { users, groups, ports, profile } = rule;
  const ofProfile = (profiles.get(profile) ?? broken.get(profile))?.groups;
  const parts = [
    ...named('user', users),
    ...named('group', groups),
    ...named('port', ports),
    ...named(`group (of profile ${profile})`, ofProfile),
  ];
  return parts.length === 0 ? 'everybody' : parts.join(' and ');
}

function named(what: string, names?: readonly (string | number)[]): string[] {
  return names === undefined ? [] : [`${what} ${names.join(' or ')}`];
}
