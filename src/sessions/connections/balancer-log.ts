import { constants, fstatSync, openSync, readSync } from 'node:fs';
import { isIP } from 'node:net';
import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { whileOpen } from '../../system/path-descriptor.ts';
import type { TcpConnection } from '../../system/tcp-connection.ts';
import type { Endpoint } from '../../system/tcp-table.ts';

/** A connection that the balancer passed on, from its log. */
interface BalancedConnection {
  readonly client: Endpoint;
  /** The balancer's end towards the node, which is the peer of the node's sshd. */
  readonly source: Endpoint;
  readonly nodePort: number;
  /** Seconds since the epoch. */
  readonly logged: number;
}

/** The balancer logs a connection when the node accepts it; PAM sees it after the user has authenticated. Seconds. */
const [mostAfter, mostBefore] = [120, 900];

/**
 * Looks up the clients of sshd's connections in the lines of a balancer's log: the last line with the same ends, and from the
 * time at which the connection was opened, because ports are used again. The text is searched once.
 *
 * @param text lines of syslog with the log-format of `berth render balancer`
 * @returns given a connection and when it was opened (seconds since the epoch), its client; undefined without such a line
 */
export function clientsInLog(
  text: string,
): (connection: TcpConnection, opened: number) => Endpoint | undefined {
  const offsets = new Map<number, number[]>();
  for (const { 1: port, index } of text.matchAll(/ source_port=(\d{1,5}) /g)) {
    const found = offsets.get(Number(port));
    if (found === undefined) offsets.set(Number(port), [index]);
    else found.push(index);
  }
  return ({ peer, local }, opened) => {
    const found = (offsets.get(peer.port) ?? [])
      .map((offset) => balancedConnection(lineAt(text, offset), opened))
      .findLast(
        (one) =>
          one?.nodePort === local.port &&
          one.source.address === peer.address &&
          opened - one.logged <= mostBefore &&
          one.logged - opened <= mostAfter,
      );
    return found?.client;
  };
}

/** Whether a line of the text is one of the balancer's, in a form that is known. */
export function hasBalancerLines(text: string): boolean {
  const now = Date.now() / 1000;
  return text.split('\n').some((line) => balancedConnection(line, now) !== undefined);
}

function lineAt(text: string, offset: number): string {
  const end = text.indexOf('\n', offset);
  return text.slice(text.lastIndexOf('\n', offset) + 1, end === -1 ? undefined : end);
}

function balancedConnection(line: string, near: number): BalancedConnection | undefined {
  const logged = syslogTime(line, near);
  const [, address = '', port, source = '', sourcePort, nodePort] =
    / client=(\S+) client_port=(\d{1,5}) .*\bsource=(\S+) source_port=(\d{1,5}) node_address=\S+ node_port=(\d{1,5})\b/.exec(
      line,
    ) ?? [];
  if (logged === undefined || isIP(address) === 0) return undefined;
  return {
    client: { address: withoutMapping(address), port: Number(port) },
    source: { address: withoutMapping(source), port: Number(sourcePort) },
    nodePort: Number(nodePort),
    logged,
  };
}

function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

/** RFC 3339, or `Nov 23 19:26:43` in local time and without a year: the year that is nearest. */
function syslogTime(line: string, near: number): number | undefined {
  const word = line.slice(0, line.indexOf(' '));
  const exact = /^\d{4}-/.test(word) ? Date.parse(word) : Number.NaN;
  if (!Number.isNaN(exact)) return exact / 1000;
  const traditional = /^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d/.exec(line)?.[0];
  if (traditional === undefined) return undefined;
  const year = new Date(near * 1000).getFullYear();
  const times = [year - 1, year, year + 1].map((one) => Date.parse(`${traditional} ${one}`) / 1000);
  return times.toSorted((a, b) => Math.abs(a - near) - Math.abs(b - near))[0];
}

/**
 * Reads the end of a balancer's log, which syslog writes on this host.
 *
 * @param most bytes
 * @returns '' if the file does not exist: no line has arrived
 * @throws {BerthError} `balancer-log-unsafe` if others than root can write it
 */
export function readBalancerLog(path: string, most: number): string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let descriptor: number;
  try {
    descriptor = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return '';
    // O_NOFOLLOW: a symbolic link.
    if (isErrno(error, 'ELOOP')) throw unsafe(path, error);
    throw error;
  }
  return whileOpen(descriptor, () => {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.uid !== 0 || (status.mode & 0o022) !== 0) throw unsafe(path);
    const buffer = Buffer.alloc(Math.min(status.size, most));
    const start = status.size - buffer.length;
    const read = readSync(descriptor, buffer, 0, buffer.length, start);
    return buffer.toString('latin1', 0, read);
  });
}

function unsafe(path: string, cause?: unknown): BerthError {
  return new BerthError(
    'balancer-log-unsafe',
    `the balancer's log ${path} is not a file that only root can write`,
    {
      fields: { file: path },
      cause,
    },
  );
}
