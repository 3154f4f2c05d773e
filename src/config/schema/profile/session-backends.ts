import type { Backend, Profile, ProfileRule } from './profile.ts';

/** The backends of a profile's sessions: those of the rules that name it, else its own. */
export function sessionBackends(
  { name, backend }: Profile,
  rules: readonly ProfileRule[],
): ReadonlySet<Backend> {
  const own = rules.filter((rule) => rule.profile === name);
  return new Set(own.length === 0 ? [backend] : own.map((rule) => rule.backend ?? backend));
}
