import { open } from 'node:fs/promises';
import { ifExists } from '../../system/if-present.ts';
import {
  addressOf,
  listening,
  tcpSocket,
  type Endpoint,
  type TcpSocket,
} from '../../system/tcp-table.ts';

interface Question {
  readonly here: Endpoint;
  readonly there: Endpoint;
  readonly answer: (uid: number | undefined) => void;
}

/** By both ports, which rarely two questions share, so each line of the table needs one lookup. */
type Questions = Map<string, Question[]>;

/**
 * How many questions may wait, each with a socket. Any user of the host can connect, as often as they like, and the owner
 * of a connection is unknown until the table has been read. If the limit were lower than what arrives during one
 * reading, connections of other users could keep the owner out.
 */
const mostQuestions = 4096;

/** The table is read twice, because the kernel may skip a line if it changes during the reading. */
const readings = 2;

/**
 * Looks up the UID that owns the other end of a connection within this host. The kernel's table is read once for all
 * waiting questions, and not twice at the same time.
 */
export class PeerUids {
  #questions: Question[] = [];
  #reading = false;

  /** @returns undefined if the other end no longer exists, or too many questions wait */
  async of(here: Endpoint, there: Endpoint): Promise<number | undefined> {
    for (let turn = 0; turn < readings; turn += 1) {
      const uid = await this.#ask(here, there);
      if (uid !== undefined) return uid;
    }
    return undefined;
  }

  #ask(here: Endpoint, there: Endpoint): Promise<number | undefined> {
    return new Promise((answer) => {
      if (this.#questions.length >= mostQuestions) {
        answer(undefined);
        return;
      }
      this.#questions.push({ here, there, answer });
      if (!this.#reading) void this.#read();
    });
  }

  async #read(): Promise<void> {
    this.#reading = true;
    while (this.#questions.length > 0) {
      const open = byPorts(this.#questions);
      this.#questions = [];
      try {
        for await (const lines of tcpLines()) {
          answerFrom(lines, open);
          if (open.size === 0) break;
        }
      } catch {
        // The table cannot be read, so nobody is let through.
      }
      for (const { answer } of [...open.values()].flat()) answer(undefined);
    }
    this.#reading = false;
  }
}

function byPorts(questions: readonly Question[]): Questions {
  const open: Questions = new Map();
  for (const question of questions) {
    const key = keyOf(question.there, question.here);
    const same = open.get(key);
    if (same === undefined) open.set(key, [question]);
    else same.push(question);
  }
  return open;
}

function answerFrom(lines: string, open: Questions): void {
  for (const line of lines.split('\n')) {
    const socket = tcpSocket(line);
    if (socket === undefined) continue;
    const key = keyOf(socket.local, socket.remote);
    const asked = open.get(key);
    if (asked === undefined) continue;
    const left = asked.filter(({ here, there, answer }) => {
      const found = isOtherEnd(socket, here, there);
      if (found) answer(socket.uid);
      return !found;
    });
    if (left.length === 0) open.delete(key);
    else open.set(key, left);
  }
}

/**
 * Whether a socket is the other end of a connection within this host.
 *
 * @param here our end
 * @param there the other end, as our end sees it: a dual-stack socket sees IPv4 as `::ffff:127.0.0.1`
 */
export function isOtherEnd(socket: TcpSocket, here: Endpoint, there: Endpoint): boolean {
  return socket.state !== listening && isEnd(socket.local, there) && isEnd(socket.remote, here);
}

function isEnd(inFile: Endpoint, { address, port }: Endpoint): boolean {
  return (
    inFile.port === port && addressOf(inFile.address) === address.replace(/^::ffff:(?=\d+\.)/, '')
  );
}

function keyOf({ port }: { readonly port: number }, other: { readonly port: number }): string {
  return `${port} ${other.port}`;
}

const tableSize = 64 * 1024;

/**
 * All of /proc/net/tcp and tcp6, several complete lines at a time, because the table can be large on a busy host. All of
 * it comes from the kernel; it contains no names or paths that a user chose. The sessions go on between two parts.
 */
async function* tcpLines(): AsyncGenerator<string> {
  for (const name of ['tcp', 'tcp6']) {
    const file = await ifExists(open(`/proc/self/net/${name}`));
    if (file === undefined) continue;
    try {
      const buffer = Buffer.alloc(tableSize);
      let rest = '';
      for (;;) {
        const { bytesRead } = await file.read(buffer);
        if (bytesRead === 0) break;
        const text = rest + buffer.toString('latin1', 0, bytesRead);
        const end = text.lastIndexOf('\n') + 1;
        rest = text.slice(end);
        yield text.slice(0, end);
      }
    } finally {
      await file.close();
    }
  }
}
