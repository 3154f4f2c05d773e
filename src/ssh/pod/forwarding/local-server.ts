import { lstat, rm } from 'node:fs/promises';
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { isErrno } from '../../../errors.ts';

/** Listens on a port of 127.0.0.1 and ::1, or at a path. */
export interface LocalServer {
  /** Takes no more connections. */
  close(): void;
}

/** Of one server at a time: a connection more is closed at once. */
const mostAccepted = 256;

/**
 * @param accepted Gets a connection that is not read yet and may be closed half.
 * @returns Nothing where somebody has the port, on either address: `localhost` would lead there.
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
      // A host without IPv6.
      if (host === '::1' && isErrno(thrown, 'EADDRNOTAVAIL', 'EAFNOSUPPORT')) continue;
      close();
      if (isErrno(thrown, 'EADDRINUSE', 'EACCES')) return undefined;
      throw thrown;
    }
  }
  return { close };
}

/**
 * A Unix socket of the user's alone, gone when it is closed. One that a killed process left at the path is
 * replaced.
 *
 * @param path In a folder to which nobody else can write.
 * @returns Nothing where something has the path.
 */
export async function listenAtPath(
  path: string,
  accepted: (socket: Socket) => void,
): Promise<LocalServer | undefined> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, accepted);
  const listen = (): Promise<void> => {
    const before = process.umask(0o177);
    // The socket is made at once: nothing else of this process runs before the umask is as it was.
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
    if (isErrno(thrown, 'EADDRINUSE', 'EACCES', 'ENOENT', 'EROFS')) return undefined;
    throw thrown;
  }
}

/** A socket that nobody listens at any more. */
async function isAbandoned(path: string): Promise<boolean> {
  // To connect(2) a plain file refuses as well.
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
      // Of one connection (EMFILE); the port is still ours.
      server.on('error', () => undefined);
      server.unref();
      resolve();
    });
  });
}
