import { parseProfile } from '../../../../src/config/schema/profile/profile-parse.ts';
import type { Profile, ProfileRule } from '../../../../src/config/schema/profile/profile.ts';
import type { Site } from '../../../../src/companions/pages/rules/site.ts';

export const exampleSite: Site = {
  title: 'login.example.org',
  host: 'login.example.org',
  addresses: [{ host: 'login.example.org', port: 22, sshdPort: 22 }],
  hostKeys: [],
  authorities: [],
  settings: { rules: [], profiles: new Map(), broken: new Map() },
  news: [],
  status: [],
};

export function profileOf(name: string, document: object = {}): Profile {
  return parseProfile({ image: 'registry.example.org/x:1', ...document }, name, `${name}.yml`);
}

/** The example with these profiles and rules. */
export function siteWith(
  profiles: readonly Profile[],
  rules: readonly ProfileRule[],
  more: Partial<Site> = {},
): Site {
  const named = new Map(profiles.map((profile) => [profile.name, profile]));
  return { ...exampleSite, settings: { rules, profiles: named, broken: new Map() }, ...more };
}
