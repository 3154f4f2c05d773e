import { isDeepStrictEqual } from 'node:util';
import { parseYaml } from '../../../config/schema/yaml-document.ts';
import { mappingOrEmpty } from '../../../system/text/mapping.ts';

type Keys = Readonly<Record<string, unknown>>;

export interface OodPortalEdit {
  readonly text: string;
  /** What the site has set and the edit takes away, as `KEY: VALUE`. */
  readonly lost: readonly string[];
}

/**
 * ood_portal.yml with OnDemand's keys for the hook. It is edited as text, so that comments and the order of keys stay.
 * Lists get what they lack; a single value that must be another one is named.
 *
 * @param hook path of the pre-PUN hook; undefined keeps the site's own
 * @param cookies the cookies of the portal's session: `sessionCookies`
 * @returns undefined if the file is written in a way in which the edit would touch other keys
 */
export function oodPortalWith(
  text: string,
  hook: string | undefined,
  cookies: readonly string[],
): OodPortalEdit | undefined {
  const before = mappingOrEmpty(parsed(text));
  const present = mappingOrEmpty(before.oidc_settings);
  const exported = listIn(before.pun_pre_hook_exports, ',');
  const settings = oidcSettings(present, cookies);
  if (exported === undefined || settings === undefined) return undefined;
  const keys: Keys = {
    ...(hook !== undefined && { pun_pre_hook_root_cmd: hook }),
    pun_pre_hook_exports: exportsWith(exported),
  };
  let edited = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  for (const [key, value] of Object.entries(keys)) edited = withKey(edited, before, key, value);
  edited = withOidcSettings(edited, before, settings);
  const wanted = { ...before, ...keys, oidc_settings: { ...present, ...settings } };
  if (!isDeepStrictEqual(parsed(edited), wanted)) return undefined;
  return {
    text: edited,
    lost: [...(hook === undefined ? [] : lostHook(before)), ...lostSettings(present, settings)],
  };
}

/** @returns undefined if it is not YAML: for an edited text, the edit broke it */
function parsed(text: string): unknown {
  try {
    return parseYaml(text, 'ood_portal.yml', 'psych');
  } catch {
    return undefined;
  }
}

const tokens = ['OIDC_ACCESS_TOKEN', 'OIDC_ID_TOKEN', 'OIDC_REFRESH_TOKEN'];

/** What the site exports already stays; OnDemand takes names in any case, but no blanks. */
function exportsWith(names: readonly string[]): string {
  const present = names.map((name) => name.toUpperCase());
  return [...names, ...tokens.filter((name) => !present.includes(name))].join(',');
}

/** The words of a list; undefined if the value is none. */
function listIn(value: unknown, separator: string | RegExp): string[] | undefined {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'string') return undefined;
  return [...new Set(value.split(separator).map((one) => one.trim()))].filter((one) => one !== '');
}

/**
 * The settings of docs/getting-started-portal.md, which says why, with those that the site has. Apache reads names of
 * directives in any case.
 *
 * @returns undefined if a value is not text
 */
function oidcSettings(present: Keys, cookies: readonly string[]): Keys | undefined {
  const spelled = (key: string): string =>
    Object.keys(present).find((one) => one.toLowerCase() === key.toLowerCase()) ?? key;
  const [idToken, claims, strip] = [
    'OIDCPassIDTokenAs',
    'OIDCPassClaimsAs',
    'OIDCStripCookies',
  ].map((key) => listIn(present[spelled(key)], /\s+/));
  if (idToken === undefined || claims === undefined || strip === undefined) return undefined;
  const refresh = spelled('OIDCPassRefreshToken');
  return {
    [spelled('OIDCPassIDTokenAs')]: [...new Set([...idToken, 'serialized'])].join(' '),
    [refresh]: isOn(present[refresh]) ? present[refresh] : 'On',
    // The second word is an encoding.
    [spelled('OIDCPassClaimsAs')]: ['environment', ...claims.slice(1)].join(' '),
    [spelled('OIDCStripCookies')]: [...new Set([...strip, ...cookies])].join(' '),
  };
}

function isOn(value: unknown): boolean {
  return typeof value === 'string' && value.toLowerCase() === 'on';
}

function lostHook({ pun_pre_hook_root_cmd: hook }: Keys): string[] {
  const isOwn = typeof hook === 'string' && /^$|\/berth\/hooks\/[a-z0-9-]+$/.test(hook.trim());
  return hook === undefined || hook === null || isOwn
    ? []
    : [`pun_pre_hook_root_cmd: ${written(hook)}`];
}

/** YAML takes `On` without quotes for true. */
function lostSettings(present: Keys, wanted: Keys): string[] {
  return Object.entries(wanted).flatMap(([key, value]) => {
    const before = present[key];
    const isList = /^oidc(?:passidtokenas|stripcookies)$/i.test(key);
    return isList || before === undefined || before === null || before === true || before === value
      ? []
      : [`oidc_settings.${key}: ${written(before)}`];
  });
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function withKey(text: string, before: Keys, key: string, value: unknown): string {
  if (before[key] === value) return text;
  const line = `${key}: ${JSON.stringify(value)}`;
  return key in before
    ? text.replace(new RegExp(`^${key}:.*$`, 'm'), () => line)
    : `${text}${line}\n`;
}

function withOidcSettings(text: string, before: Keys, settings: Keys): string {
  const present = mappingOrEmpty(before.oidc_settings);
  let edited = 'oidc_settings' in before ? text : `${text}oidc_settings:\n`;
  const indent = /^oidc_settings:[^\n]*\n(?:\s*#[^\n]*\n)*( +)[^\s#]/m.exec(edited)?.[1] ?? '  ';
  for (const [key, value] of Object.entries(settings).reverse()) {
    if (present[key] === value) continue;
    const line = `${key}: ${JSON.stringify(value)}`;
    edited =
      key in present
        ? edited.replace(new RegExp(`^( +)${key}:.*$`, 'm'), (_all, space: string) => space + line)
        : edited.replace(/^oidc_settings:.*$/m, (head) => `${head}\n${indent}${line}`);
  }
  return edited;
}
