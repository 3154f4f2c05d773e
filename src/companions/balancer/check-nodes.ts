import { createConnection } from 'node:net';
import type { BalancerSettings } from '../../config/schema/balancer-settings.ts';
import { hostPort } from '../../config/schema/host-name.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';

/** A port of a node at which no sshd answers. */
export interface SilentNode {
  /** SYSTEM.KIND of each kind that has this port. */
  readonly kinds: readonly string[];
  readonly node: string;
  /** `ADDRESS:PORT` */
  readonly endpoint: string;
  /** What came instead of sshd's first line; it may have control characters. */
  readonly found: string;
}

/** Milliseconds for one node, from its connection to its first line. */
const timeoutMs = 3_000;
/** Connections at the same time; more than the nodes of nearly all sites, so that these take `timeoutMs` in all. */
const atOnce = 256;
/** sshd may send other lines first (RFC 4253, 4.2). Bytes. */
const mostRead = 1024;

/**
 * Connects to each node's port as the balancer's check does, and reads what says who answers there.
 *
 * @returns the ports at which that is not an sshd, in the order of the list
 */
export async function checkNodes(settings: Pick<BalancerSettings, 'kinds'>): Promise<SilentNode[]> {
  const checked = await mapConcurrent(portsOf(settings), atOnce, async (one) => {
    const { kinds, node, address, port } = one;
    const found = await whatAnswers(one);
    return found === undefined ? [] : [{ kinds, node, endpoint: hostPort(address, port), found }];
  });
  return checked.flat();
}

interface Port {
  readonly kinds: string[];
  readonly node: string;
  readonly address: string;
  readonly port: number;
}

function portsOf({ kinds }: Pick<BalancerSettings, 'kinds'>): Port[] {
  const ports = new Map<string, Port>();
  for (const { system, name, nodes, nodePort } of kinds)
    for (const { name: node, address } of nodes) {
      const kind = `${system}.${name}`;
      const key = hostPort(address, nodePort);
      const before = ports.get(key);
      if (before === undefined) ports.set(key, { kinds: [kind], node, address, port: nodePort });
      else before.kinds.push(kind);
    }
  return [...ports.values()];
}

/** What is wrong there; undefined for an sshd. */
function whatAnswers({ address, port }: Port): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    let connected = false;
    const socket = createConnection({ host: address, port });
    const end = (found: string | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(found);
    };
    const instead = (otherwise: string): string =>
      text === '' ? otherwise : `it said ${JSON.stringify(firstLine(text))} instead of SSH-2.0-`;
    const timer = setTimeout(() => {
      const seconds = timeoutMs / 1000;
      end(
        connected
          ? instead(`it accepted, and said nothing for ${seconds} seconds`)
          : `no answer within ${seconds} seconds`,
      );
    }, timeoutMs);
    socket.setEncoding('latin1');
    socket.once('connect', () => (connected = true));
    socket.on('data', (part: string) => {
      text += part;
      if (text.includes('SSH-2.0-')) end(undefined);
      else if (text.length >= mostRead) end(instead(''));
    });
    socket.once('end', () => end(instead('it closed the connection, and said nothing')));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      end(connected ? instead(reasonOf(error)) : reasonOf(error));
    });
  });
}

function firstLine(text: string): string {
  return (text.split(/\r?\n/)[0] ?? '').slice(0, 80);
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the name server did not answer',
};

function reasonOf({ code = '', message }: NodeJS.ErrnoException): string {
  return reasons[code] ?? message;
}
