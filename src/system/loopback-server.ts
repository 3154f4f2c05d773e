import { createServer, type Server, type Socket } from 'node:net';
import { isErrno } from '../errors.ts';

/** Listens on a port of 127.0.0.1 and ::1. */
export interface LoopbackServer {
  /** Takes no more connections. */
  close(): void;
}

/**
 * @param accepted Gets a connection that is not read yet and may be closed half.
 * @returns Nothing where somebody has the port, on either address: `localhost` would lead there.
 */
export async function listenOnLoopback(
  port: number,
  accepted: (socket: Socket) => void,
): Promise<LoopbackServer | undefined> {
  const servers: Server[] = [];
  const close = (): void => {
    for (const server of servers) server.close();
  };
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accepted);
    try {
      await listening(server, host, port);
      servers.push(server);
    } catch (thrown) {
      // A host without IPv6.
      if (host === '::1' && isErrno(thrown, 'EADDRNOTAVAIL', 'EAFNOSUPPORT')) continue;
      close();
      if (isErrno(thrown, 'EADDRINUSE', 'EACCES')) return undefined;
      throw thrown;
    }
  }
  return { close };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, ipv6Only: true }, () => {
      server.off('error', reject);
      // Of one connection (EMFILE); the port is still ours.
      server.on('error', () => undefined);
      server.unref();
      resolve();
    });
  });
}
