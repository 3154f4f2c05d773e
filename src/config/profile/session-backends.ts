import type { Backend, Profile, ProfileRule } from './profile.ts';

/** What sessions of a profile run in: as the rules for it say, and it itself where they do not. */
export function sessionBackends(
  { name, backend }: Profile,
  rules: readonly ProfileRule[],
): ReadonlySet<Backend> {
  const own = rules.filter((rule) => rule.profile === name);
  return new Set(own.length === 0 ? [backend] : own.map((rule) => rule.backend ?? backend));
}
