import type { IdRange } from '../../../system/identity/subordinate-file.ts';

/** IDs that somebody may have whom nobody lists. */
export interface ReservedIds extends IdRange {
  /** A description, such as `the range of sssd's domain example.org`. */
  readonly name: string;
}

/** What is known of the IDs of people and groups in directories. */
export interface DirectoryIds {
  readonly reserved: readonly ReservedIds[];
  /** Sources of accounts that do not list them and may give them any ID. */
  readonly unlisted: readonly string[];
}

type Keys = Map<string, string>;

/**
 * The IDs of sssd's domains. Mapped IDs are reserved whether sssd lists accounts or not: it lists only those that it knows today.
 *
 * @param texts of sssd.conf(5) and of its snippets, in their order: the last value counts
 */
export function sssdIds(texts: readonly string[]): DirectoryIds {
  const reserved: ReservedIds[] = [];
  const unlisted: string[] = [];
  for (const [domain, keys] of sssdDomains(texts)) {
    const provider = keys.get('id_provider');
    if (provider === undefined || provider === 'files' || provider === 'local') continue;
    const isTrue = (key: string): boolean => keys.get(key)?.toLowerCase() === 'true';
    const mapping = mappingKeys(provider, keys);
    if (mapping === undefined && isTrue('enumerate')) continue;
    const range =
      mapping === undefined
        ? rangeOf(keys.get('min_id') ?? '1', keys.get('max_id') ?? '0')
        : // Exclusive in sssd-ldap(5), inclusive in its older versions.
          rangeOf(
            keys.get(`${mapping}_min`) ?? '200000',
            keys.get(`${mapping}_max`) ?? '2000200000',
          );
    if (range === undefined) unlisted.push(`sssd's domain ${domain}`);
    else reserved.push({ ...range, name: `the range of sssd's domain ${domain}` });
  }
  return { reserved, unlisted };
}

/** How the keys begin that limit mapped IDs; undefined if the IDs are those of the directory (sssd-ldap(5), sssd-ad(5), sssd-idp(5)). */
function mappingKeys(provider: string, keys: Keys): string | undefined {
  if (provider === 'idp') return 'idmap_range';
  if (provider !== 'ad' && provider !== 'ldap') return undefined;
  const mapped = keys.get('ldap_id_mapping')?.toLowerCase() ?? String(provider === 'ad');
  return mapped === 'true' ? 'ldap_idmap_range' : undefined;
}

function sssdDomains(texts: readonly string[]): Map<string, Keys> {
  const domains = new Map<string, Keys>();
  for (const text of texts) {
    let keys: Keys | undefined;
    for (const line of text.split('\n')) {
      const section = /^\s*\[(.*)\]\s*$/.exec(line)?.[1];
      if (section !== undefined) {
        const domain = /^\s*domain\/(.+?)\s*$/i.exec(section)?.[1];
        keys = domain === undefined ? undefined : (domains.get(domain) ?? new Map());
        if (domain !== undefined && keys !== undefined) domains.set(domain, keys);
        continue;
      }
      const [, key, value = ''] = /^\s*([^#;\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
      // An empty value is ignored.
      if (key !== undefined && value !== '') keys?.set(key.toLowerCase(), value);
    }
  }
  return domains;
}

/** The ranges of `idmap config DOMAIN : range` in smb.conf(5); `unlisted` if there may be others. */
export function sambaIds(text: string): DirectoryIds {
  const reserved: ReservedIds[] = [];
  let complete = true;
  for (const line of text.replaceAll(/\\\r?\n/g, '').split('\n')) {
    const [, key = '', value = ''] = /^\s*([^#;\s][^=]*)=\s*(.*?)\s*$/.exec(line) ?? [];
    // Case and blanks in names do not count. `idmap uid` is the older name of the range of `*`.
    const name = key.toLowerCase().replaceAll(/\s/g, '');
    if (name === 'include' || name === 'configbackend') complete = false;
    if (!/^(?:idmapconfig.+:range|(?:idmap|winbind)[ug]id)$/.test(name)) continue;
    const [, low = '', high = ''] = /^(\d+)\s*-\s*(\d+)$/.exec(value) ?? [];
    const range = rangeOf(low, high);
    if (range === undefined) complete = false;
    else reserved.push({ ...range, name: `the range of \`${key.trim()}\` in smb.conf` });
  }
  return { reserved, unlisted: complete && reserved.length > 0 ? [] : ['winbind'] };
}

/** `FROM-TO` of --reserved. */
export function reservedIds(text: string): ReservedIds | undefined {
  const [, low = '', high = ''] = /^(\d{1,10})-(\d{1,10})$/.exec(text) ?? [];
  const range = rangeOf(low, high);
  return range && { ...range, name: 'what --reserved names' };
}

function rangeOf(low: string, high: string): IdRange | undefined {
  if (!/^\d+$/.test(low) || !/^\d+$/.test(high)) return undefined;
  const count = Number(high) - Number(low) + 1;
  return count > 0 ? { start: Number(low), count } : undefined;
}
