import { FilterParser, PagedResultsControl, type SearchEntry, SearchRequest } from 'ldapts';
import type { LdapSearch } from '../config/schema/ldap-settings.ts';
import { BerthError, messageOf } from '../system/errors/berth-error.ts';
import type { LdapConnection } from './ldap-connection.ts';
import type { LdapEntry } from './rules/possible-people.ts';
import { leadsToNobody } from './rules/ldap-dn.ts';
import { ldapIncomplete, ldapResultError } from './ldap-errors.ts';

export interface SearchOptions {
  readonly base: string;
  /** `users`, for messages. */
  readonly what: string;
  readonly attributes: readonly string[];
  readonly pageSize: number;
  /** Called after each page with the number of entries so far. */
  readonly onPage?: (count: number) => void;
}

/** Limit for a server that sends pages without end. */
const mostEntries = 5_000_000;

/**
 * Reads all results below one base, page by page (RFC 2696). A referral to where people may be, a limit, a lost
 * connection and an incomplete attribute are errors: there is no partial result.
 *
 * @throws BerthError `ldap-filter-invalid`, `ldap-referral`, `ldap-incomplete`, and what
 *   `LdapConnection.request` throws
 */
export async function searchAll(
  connection: LdapConnection,
  search: LdapSearch,
  { base, what, attributes, pageSize, onPage }: SearchOptions,
): Promise<LdapEntry[]> {
  const attempted = `reading the ${what} below ${base}`;
  const filter = parsedFilter(search.filter, what);
  const found: LdapEntry[] = [];
  let cookie: Buffer | undefined;
  do {
    const paging = new PagedResultsControl({
      // Critical: a server without paged results must return an error, not a part.
      critical: true,
      value: { size: pageSize, ...(cookie && { cookie }) },
    });
    const request = new SearchRequest({
      messageId: connection.nextId(),
      baseDN: base,
      scope: search.scope,
      filter,
      attributes: [...new Set(attributes)],
      // No limit of ours: the default of ldapts is ten seconds.
      timeLimit: 0,
      controls: [paging],
    });
    const { entries, references, final } = await connection.request(attempted, request);
    const elsewhere = references.filter((uri) => !leadsToNobody(uri));
    if (elsewhere.length > 0)
      throw ldapResultError(
        attempted,
        10,
        `part of the result is on another server: ${elsewhere.join(', ')}`,
      );
    found.push(...entries.map((entry) => plainEntry(entry, attempted)));
    cookie = nextCookie(final.controls, attempted);
    onPage?.(found.length);
  } while (cookie !== undefined && found.length <= mostEntries);
  if (found.length > mostEntries)
    throw ldapIncomplete(attempted, `more than ${mostEntries} entries`, 'Narrow the filter.');
  return found;
}

function nextCookie(controls: SearchRequest['controls'], attempted: string): Buffer | undefined {
  const paging = controls?.find((control) => control instanceof PagedResultsControl);
  if (paging?.value === undefined)
    throw ldapIncomplete(
      attempted,
      'the server does not say whether this was the last page',
      'The server does not support paged results (RFC 2696), or an LDAP proxy in front of it removes the control.',
    );
  const { cookie } = paging.value;
  return cookie === undefined || cookie.length === 0 ? undefined : cookie;
}

function plainEntry({ name, attributes }: SearchEntry, attempted: string): LdapEntry {
  const values = new Map<string, readonly string[]>();
  for (const { type, values: all } of attributes) {
    const [attribute = '', ...options] = type.toLowerCase().split(';');
    // MS-ADTS 3.1.1.3.1.3.3: Active Directory sends only the first 1500 values.
    if (options.some((option) => option.startsWith('range=')))
      throw ldapIncomplete(
        attempted,
        `${name} has more values of ${attribute} than the server sends at once`,
        'Set ldap.groups.schema: memberof, or raise MaxValRange in Active Directory.',
      );
    values.set(attributeName(type), all.map(String));
  }
  return { dn: name, values };
}

/** The same few names come with each entry: each is kept once. */
const attributeNames = new Map<string, string>();

/** An attribute description in lower case. */
function attributeName(type: string): string {
  const known = attributeNames.get(type);
  if (known !== undefined) return known;
  const name = type.toLowerCase();
  if (attributeNames.size < mostNames) attributeNames.set(type, name);
  return name;
}

/** Against a server that sends names without end. */
const mostNames = 1_000;

function parsedFilter(filter: string, what: string): ReturnType<typeof FilterParser.parseString> {
  try {
    return FilterParser.parseString(filter);
  } catch (cause) {
    throw new BerthError(
      'ldap-filter-invalid',
      `ldap.${what}.filter: ${filter} is not a valid filter: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}
