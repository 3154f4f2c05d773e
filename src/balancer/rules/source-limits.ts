import type { SourceLimits } from '../../config/balancer-settings.ts';

/**
 * How many connections a source has and opens, in a table of each balancer's own: peers would overwrite each other's
 * counters. For IPv6 a source is a network of 64 bits, of which a single host has all addresses.
 *
 * @returns the lines of the section, if there is a limit
 */
export function sourceTable(limits: SourceLimits): string[][] {
  if (!isLimited(limits)) return [];
  return [
    [
      '# Connections of each source. A source is an IPv4 address or an IPv6 network of 64 bits.',
      'stick-table type ipv6 size 1m expire 1m store conn_cur,conn_rate(10s)',
    ],
  ];
}

/** The rules of a kind that mark a connection of a source with too many as refused. */
export function sourceLines(limits: SourceLimits): string[] {
  if (!isLimited(limits)) return [];
  const { connections, rate, exempt } = limits;
  const unless = exempt.length === 0 ? '' : ' unless exempt';
  const refuse = (reason: string, counter: string, most: number): string[] =>
    most === 0
      ? []
      : [
          `tcp-request connection set-var(sess.refused) str(${reason}) if { ${counter} gt ${most} }`,
        ];
  return [
    ...(exempt.length === 0 ? [] : [`acl exempt src ${exempt.join(' ')}`]),
    `tcp-request connection track-sc1 src,ipmask(32,64) table sources${unless}`,
    ...refuse('rate', 'sc1_conn_rate', rate),
    ...refuse('connections', 'sc1_conn_cur', connections),
  ];
}

/** The condition of rules for connections that are not refused. */
export function unlessRefused(limits: SourceLimits): string {
  return isLimited(limits) ? ` unless ${refused}` : '';
}

/**
 * Refuses by `content`, because haproxy does not log what `connection` rejects. It follows the rules of `connection`. Of a
 * source at twice the rate no line is written: the rate's first refusals name it.
 */
export function refusal(limits: SourceLimits): string[] {
  if (!isLimited(limits)) return [];
  const { rate } = limits;
  return [
    // Thousands of lines would push those of other connections out of the log that `berth sessions` searches.
    ...(rate === 0
      ? []
      : [`tcp-request content set-log-level silent if { sc1_conn_rate gt ${2 * rate} }`]),
    `tcp-request content reject if ${refused}`,
  ];
}

const refused = '{ var(sess.refused) -m found }';

function isLimited({ connections, rate }: SourceLimits): boolean {
  return connections > 0 || rate > 0;
}
