import { tcpSockets, uidAtOtherEnd, type IpEnd } from '../session/bridge/proc-net-tcp.ts';
import { tcpLines } from '../system/listening-sockets.ts';

interface Question {
  readonly here: IpEnd;
  readonly there: IpEnd;
  readonly answer: (uid: number | undefined) => void;
}

/** Those who may wait for an answer: anybody on the host may connect, and as often as they like. */
const mostQuestions = 128;

/**
 * Whose sockets the other ends of connections within this host are. The kernel's table is read for all who
 * ask in one go, and never twice at the same time.
 */
export class PeerUids {
  #questions: Question[] = [];
  #reading = false;

  /** @returns nothing where the other end is nobody's any more, or too many ask */
  async of(here: IpEnd, there: IpEnd): Promise<number | undefined> {
    if (this.#questions.length >= mostQuestions) return undefined;
    return new Promise((answer) => {
      this.#questions.push({ here, there, answer });
      if (!this.#reading) void this.#read();
    });
  }

  async #read(): Promise<void> {
    this.#reading = true;
    while (this.#questions.length > 0) {
      let open = this.#questions;
      this.#questions = [];
      try {
        for await (const lines of tcpLines()) {
          const sockets = tcpSockets(lines);
          open = open.filter(({ here, there, answer }) => {
            const uid = uidAtOtherEnd(sockets, here, there);
            if (uid !== undefined) answer(uid);
            return uid === undefined;
          });
          if (open.length === 0) break;
        }
      } catch {
        // The table cannot be read: nobody gets through.
      }
      for (const { answer } of open) answer(undefined);
    }
    this.#reading = false;
  }
}
