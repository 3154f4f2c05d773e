import type { ProfileRule, SshSettings } from './profile.ts';

/** More would make the line in syslog too long. */
const mostRules = 5;

/** For users without a matching rule: whom the rules are for, in one line without a full stop. */
export function describeRules(settings: SshSettings): string {
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
