import { tcpSockets, uidAtOtherEnd, type IpEnd } from './protocol/proc-net-tcp.ts';
import { tcpLines } from './listening-sockets.ts';

interface Question {
  readonly here: IpEnd;
  readonly there: IpEnd;
  readonly answer: (uid: number | undefined) => void;
}

/** By both ports, of which hardly two questions have the same: a line of the table costs one look. */
type Questions = Map<string, Question[]>;

/**
 * Those who may wait for an answer, each with a socket: anybody on the host may connect, as often as they
 * like, and nobody is known before the table was read. Fewer than come during one reading, and a flood of
 * strangers would keep the owner out.
 */
const mostQuestions = 4096;

/** Of a table that changes while it is read, the kernel may leave out a line. */
const readings = 2;

/**
 * Whose sockets the other ends of connections within this host are. The kernel's table is read for all who
 * ask in one go, and never twice at the same time.
 */
export class PeerUids {
  #questions: Question[] = [];
  #reading = false;

  /** @returns nothing where the other end is nobody's any more, or too many ask */
  async of(here: IpEnd, there: IpEnd): Promise<number | undefined> {
    for (let turn = 0; turn < readings; turn += 1) {
      const uid = await this.#ask(here, there);
      if (uid !== undefined) return uid;
    }
    return undefined;
  }

  #ask(here: IpEnd, there: IpEnd): Promise<number | undefined> {
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
        // The table cannot be read: nobody gets through.
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
  for (const socket of tcpSockets(lines)) {
    const key = keyOf(socket.local, socket.remote);
    const asked = open.get(key);
    if (asked === undefined) continue;
    const left = asked.filter(({ here, there, answer }) => {
      const uid = uidAtOtherEnd([socket], here, there);
      if (uid !== undefined) answer(uid);
      return uid === undefined;
    });
    if (left.length === 0) open.delete(key);
    else open.set(key, left);
  }
}

function keyOf({ port }: { readonly port: number }, other: { readonly port: number }): string {
  return `${port} ${other.port}`;
}
