import type {
  BalancerSettings,
  LoginNode,
  SessionKind,
  SourceLimits,
} from '../../../config/schema/balancer-settings.ts';
import { isIpv6 } from '../../../config/schema/ip-address.ts';
import { hostPort } from '../../../config/schema/host-name.ts';

/** Where haproxy runs, as far as its configuration depends on it. */
export interface Placement {
  /** Lines for `global`: where the log goes, and who haproxy is. */
  readonly global: readonly string[];
  /** `NAME ADDRESS:PORT` of each balancer; this one is among them. */
  readonly peers: readonly string[];
  /** The address and port that a port of `balancer.yml` listens on. */
  readonly listen: readonly string[];
  readonly portOf: (port: number) => number;
  readonly statistics: readonly string[];
  /** The port of health checks, if they have their own. */
  readonly healthPort?: number;
}

/** What is beyond the kinds' connections: the statistics, and health checks. */
const spareConnections = 100;

/**
 * haproxy.cfg for haproxy 2.6 and later. One `listen` section for each kind, named SYSTEM.KIND, with a server for each
 * node.
 */
export function haproxyConfig(settings: BalancerSettings, placement: Placement): string {
  const { hostname, kinds, statistics } = settings;
  const most = kinds.reduce((sum, { maxConnections }) => sum + maxConnections, spareConnections);
  const tables = [...new Set(kinds.filter(({ together }) => together).map(tableOf))];
  return [
    `# SSH connections to ${hostname} for the login nodes.`,
    section('global', [
      ...placement.global,
      `maxconn ${most}`,
      '# There is no hard-stop-after: after a reload the old process runs until its last session ends.',
    ]),
    section('peers berth', [
      '# Which client is on which node: kept over a reload, and shared by all balancers.',
      ...placement.peers.map((peer) => `peer ${peer}`),
      ...tables.map((table) => `table ${table} type ipv6 size 1m expire 36h`),
    ]),
    ...sourceTable(settings.sourceLimits).map((lines) => section('backend sources', lines)),
    section('defaults ssh', sshDefaults),
    ...kinds.map((kind) =>
      section(`listen ${proxyOf(kind)}`, [
        ...listenLines(kind, placement),
        ...kindLines(kind, settings.sourceLimits),
      ]),
    ),
    section('defaults http', [
      'mode http',
      'timeout connect 5s',
      'timeout client 30s',
      'timeout server 30s',
      '# Without a request, a connection is closed: idle ones must not take the place of others.',
      'timeout http-request 5s',
    ]),
    section('frontend statistics', [
      ...placement.statistics.map((address) => bind(address, statistics.port)),
      'maxconn 50',
      'http-request use-service prometheus-exporter if { path /metrics }',
      ...(placement.healthPort === undefined ? ['monitor-uri /health'] : []),
      'stats enable',
      'stats uri /',
      'stats refresh 10s',
    ]),
    ...(placement.healthPort === undefined ? [] : [healthSection(placement, placement.healthPort)]),
  ].join('\n\n');
}

/** The section of a kind, and its name in the log and in the metrics. */
function proxyOf({ system, name }: Pick<SessionKind, 'system' | 'name'>): string {
  return `${system}.${name}`;
}

/** Kinds of a system share a table: a user's container is on one node, whichever port the next connection takes. */
function tableOf({ system }: SessionKind): string {
  return system;
}

const sshDefaults = [
  'mode tcp',
  'balance leastconn',
  'log global',
  "# One line when the node accepts. Its sshd logs source and source_port as the client's: join them for the true address.",
  'option logasap',
  'log-format "client=%ci client_port=%cp kind=%f node=%s source=%bi source_port=%bp node_address=%si node_port=%sp connect_ms=%Tc state=%ts open=%fc/%sc retries=%rc refused=%[var(sess.refused)]"',
  '# A node is up as long as its sshd sends its identification.',
  'option tcp-check',
  'tcp-check expect rstring SSH-2.0-',
  '# A failed connection is tried at once on another node, and the node is checked within a second.',
  'default-server check inter 10s fastinter 1s fall 2 rise 1 observe layer4 error-limit 1 on-error sudden-death init-addr libc,none',
  'retries 3',
  'option redispatch 1',
  'timeout connect 10s',
  'timeout check 3s',
  '# Idle sessions stay. Those whose client or node has vanished end by the keep-alive probes.',
  'timeout client 36h',
  'timeout server 36h',
  'timeout client-fin 1m',
  'timeout server-fin 1m',
  'option clitcpka',
  'option srvtcpka',
  'srvtcpka-idle 60s',
  'srvtcpka-intvl 10s',
  'srvtcpka-cnt 6',
];

/** Health checks do not share a limit with who reads the statistics. */
function healthSection({ statistics }: Placement, port: number): string {
  return section('frontend health', [
    ...statistics.map((address) => bind(address, port)),
    'maxconn 20',
    'monitor-uri /health',
    'http-request deny',
  ]);
}

function listenLines(kind: SessionKind, { listen, portOf }: Placement): string[] {
  const { nodes, port, maxConnections } = kind;
  const transparent = isTransparent(kind);
  return [
    ...listen
      .filter((address) => !transparent || nodes.some((node) => sameFamily(address, node)))
      .map((address) => bind(address, portOf(port))),
    `maxconn ${maxConnections}`,
  ];
}

function isTransparent({ clientAddress }: SessionKind): boolean {
  return clientAddress === 'transparent';
}

function kindLines(kind: SessionKind, limits: SourceLimits): string[] {
  const { nodes, nodePort, together } = kind;
  const table = `berth/${tableOf(kind)}`;
  return [
    ...sourceLines(limits),
    // Without it an entry expires 36 hours after its last new connection, however long that lasts. Refused ones would fill
    // the table: one network of 64 bits has more addresses than it has entries.
    ...(together
      ? [`tcp-request connection track-sc0 src table ${table}${unlessRefused(limits)}`]
      : []),
    ...refusal(limits),
    ...silentNode,
    ...(together ? [`stick on src table ${table}`] : []),
    ...nodes.map((node) => {
      const source = isTransparent(kind) ? ` source ${anyAddress(node)} usesrc clientip` : '';
      return `server ${node.name} ${hostPort(node.address, nodePort)}${source}`;
    }),
  ];
}

/** sshd speaks first. A client of one that hangs is told after a while, instead of waiting for ever. */
const silentNode = [
  'tcp-response inspect-delay 30s',
  'tcp-response content accept if { res.len gt 0 }',
  'tcp-response content reject if WAIT_END',
];

/** Each family has its own listener, so that IPv4 clients have IPv4 addresses in the log. */
function bind(address: string, port: number): string {
  return `bind ${hostPort(address, port)}${isIpv6(address) ? ' v6only' : ''}`;
}

/** A node cannot answer a client of another family. */
function sameFamily(address: string, node: LoginNode): boolean {
  return isIpv6(address) === isIpv6(node.address);
}

function anyAddress({ address }: LoginNode): string {
  return isIpv6(address) ? '[::]' : '0.0.0.0';
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `    ${line}`)].join('\n');
}

/**
 * How many connections a source has and opens, in a table of each balancer's own: peers would overwrite each other's
 * counters. For IPv6 a source is a network of 64 bits, of which a single host has all addresses.
 *
 * @returns the lines of the section, if there is a limit
 */
function sourceTable(limits: SourceLimits): string[][] {
  if (!isLimited(limits)) return [];
  return [
    [
      '# Connections of each source. A source is an IPv4 address or an IPv6 network of 64 bits.',
      'stick-table type ipv6 size 1m expire 1m store conn_cur,conn_rate(10s)',
    ],
  ];
}

/** The rules of a kind that mark a connection of a source with too many as refused. */
function sourceLines(limits: SourceLimits): string[] {
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
function unlessRefused(limits: SourceLimits): string {
  return isLimited(limits) ? ` unless ${refused}` : '';
}

/**
 * Refuses by `content`, because haproxy does not log what `connection` rejects. It follows the rules of `connection`. Of a
 * source at twice the rate no line is written: the rate's first refusals name it.
 */
function refusal(limits: SourceLimits): string[] {
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
