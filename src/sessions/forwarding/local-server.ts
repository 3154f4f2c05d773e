import { lstat, rm } from 'node:fs/promises';
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { expectErrno, isErrno } from '../../system/errors/berth-error.ts';

/** Listens on a port of 127.0.0.1 and ::1, or on a path. */
export interface LocalServer {
  /** Stops accepting connections. */
  close(): void;
}

/** Connections of one server at a time; further ones are closed at once. */
const mostAccepted = 256;

/**
 * Listens on a port of both loopback addresses.
 *
 * @param accepted receives a connection that is paused and may be half-closed
 * @returns undefined if the port is in use on either address: `localhost` would connect there
 */
export async function listenOnLoopback(
  port: number,
  accepted: (socket: Socket) => void,
): Promise<LocalServer | undefined> {
  const servers: Server[] = [];
  const close = (): void => {
    for (const server of servers) server.close();
  };
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accepted);
    try {
      await listening(server, { host, port, ipv6Only: true });
      servers.push(server);
    } catch (thrown) {
      // The host has no IPv6.
      if (host === '::1' && isErrno(thrown, 'EADDRNOTAVAIL', 'EAFNOSUPPORT')) continue;
      close();
      expectErrno(thrown, 'EADDRINUSE', 'EACCES');
      return undefined;
    }
  }
  return { close };
}

/**
 * Listens on a Unix socket that only the user can connect to. It is removed when it is closed; one that a killed process
 * left is replaced.
 *
 * @param path in a directory that nobody else can write
 * @returns undefined if the path is in use
 */
export async function listenAtPath(
  path: string,
  accepted: (socket: Socket) => void,
): Promise<LocalServer | undefined> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accepted);
  const listen = (): Promise<void> => {
    const before = process.umask(0o177);
    // The socket is created synchronously, so nothing else of this process runs with this umask.
    const made = listening(server, { path });
    process.umask(before);
    return made;
  };
  try {
    await listen().catch(async (thrown: unknown) => {
      if (!isErrno(thrown, 'EADDRINUSE') || !(await isAbandoned(path))) throw thrown;
      await rm(path);
      await listen();
    });
    return { close: () => server.close() };
  } catch (thrown) {
    expectErrno(thrown, 'EADDRINUSE', 'EACCES', 'ENOENT', 'EROFS');
    return undefined;
  }
}

/** Whether it is a socket on which no process listens. */
async function isAbandoned(path: string): Promise<boolean> {
  // connect(2) also fails with ECONNREFUSED for a regular file.
  if (!(await lstat(path)).isSocket()) return false;
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error) => resolve(isErrno(error, 'ECONNREFUSED')));
  });
}

function listening(server: Server, where: ListenOptions): Promise<void> {
  server.maxConnections = mostAccepted;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      // An error of a single connection (EMFILE); the server still listens.
      server.on('error', () => undefined);
      server.unref();
      resolve();
    });
  });
}
