import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { mappingOrEmpty } from '../../mapping.ts';

type Keys = Readonly<Record<string, string>>;

/**
 * ood_portal.yml with OnDemand's keys for the hook. It is edited as text, so that comments and the order of keys stay.
 *
 * @param hook path of the pre-PUN hook
 * @returns undefined if the file is written in a way in which the edit would touch other keys
 */
export function oodPortalWith(text: string, hook: string): string | undefined {
  const before = mappingOrEmpty(parse(text, { version: '1.1' }));
  const keys = {
    pun_pre_hook_root_cmd: hook,
    pun_pre_hook_exports: exportsWith(before.pun_pre_hook_exports),
  };
  let edited = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  for (const [key, value] of Object.entries(keys)) edited = withKey(edited, before, key, value);
  edited = withOidcSettings(edited, before);
  const wanted = {
    ...before,
    ...keys,
    oidc_settings: { ...mappingOrEmpty(before.oidc_settings), ...oidcSettings },
  };
  return isDeepStrictEqual(parsed(edited), wanted) ? edited : undefined;
}

/** @returns undefined if the edit broke the file */
function parsed(text: string): unknown {
  try {
    return parse(text, { version: '1.1' }) as unknown;
  } catch {
    return undefined;
  }
}

const tokens = ['OIDC_ACCESS_TOKEN', 'OIDC_ID_TOKEN', 'OIDC_REFRESH_TOKEN'];

/** As in docs/getting-started-portal.md, which says why. */
const oidcSettings: Keys = {
  OIDCPassIDTokenAs: 'serialized',
  OIDCPassRefreshToken: 'On',
  OIDCPassClaimsAs: 'environment',
  OIDCStripCookies: 'mod_auth_openidc_session',
};

/** What the site exports already stays. */
function exportsWith(present: unknown): string {
  const names = typeof present === 'string' ? present.split(',').filter((one) => one !== '') : [];
  return [...new Set([...names, ...tokens])].join(',');
}

function withKey(
  text: string,
  before: Readonly<Record<string, unknown>>,
  key: string,
  value: string,
): string {
  if (before[key] === value) return text;
  const line = `${key}: ${JSON.stringify(value)}`;
  return key in before
    ? text.replace(new RegExp(`^${key}:.*$`, 'm'), () => line)
    : `${text}${line}\n`;
}

function withOidcSettings(text: string, before: Readonly<Record<string, unknown>>): string {
  const present = mappingOrEmpty(before.oidc_settings);
  let edited = 'oidc_settings' in before ? text : `${text}oidc_settings:\n`;
  const indent = /^oidc_settings:[^\n]*\n(?:\s*#[^\n]*\n)*( +)[^\s#]/m.exec(edited)?.[1] ?? '  ';
  for (const [key, value] of Object.entries(oidcSettings).reverse()) {
    if (present[key] === value) continue;
    const line = `${key}: ${JSON.stringify(value)}`;
    edited =
      key in present
        ? edited.replace(new RegExp(`^( +)${key}:.*$`, 'm'), (_all, space: string) => space + line)
        : edited.replace(/^oidc_settings:.*$/m, (head) => `${head}\n${indent}${line}`);
  }
  return edited;
}
