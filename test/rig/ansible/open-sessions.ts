import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** SSH sessions that stay open and answer when they are asked. */
export class OpenSessions {
  readonly #clients: ChildProcess[] = [];
  #asked = 0;

  /** Opens a session with each of the command lines of ssh(1), and waits until all answer. */
  static async open(commandLines: readonly (readonly string[])[]): Promise<OpenSessions> {
    const sessions = new OpenSessions();
    for (const args of commandLines) {
      sessions.#clients.push(
        spawn('ssh', [...args, 'while read -r line; do echo "$line"; done'], {
          stdio: ['pipe', 'pipe', 'inherit'],
        }),
      );
      // Fewer at once than sshd's MaxStartups.
      if (sessions.#clients.length % 5 === 0) await sessions.answering();
    }
    const answering = await sessions.answering();
    if (answering !== commandLines.length)
      throw new Error(`only ${answering} of ${commandLines.length} sessions answer`);
    return sessions;
  }

  /** Asks each session. @returns how many answer within the time limit, in milliseconds */
  async answering(limit = 60_000): Promise<number> {
    this.#asked += 1;
    const line = `question ${this.#asked}`;
    const answers = this.#clients.map((client) => echoes(client, line, limit));
    return (await Promise.all(answers)).filter(Boolean).length;
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#clients.map(async (client) => {
        if (client.exitCode !== null) return;
        const ended = once(client, 'exit');
        client.stdin?.end();
        await ended;
      }),
    );
  }
}

/** Whether the session echoes the line. */
function echoes({ stdin, stdout }: ChildProcess, line: string, limit: number): Promise<boolean> {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => done(false), limit);
    const onData = (chunk: Buffer): void => {
      text += chunk.toString();
      if (text.includes(`${line}\n`)) done(true);
    };
    const onEnd = (): void => done(false);
    const done = (result: boolean): void => {
      clearTimeout(timer);
      stdout?.off('data', onData).off('end', onEnd);
      resolve(result);
    };
    stdout?.on('data', onData).once('end', onEnd);
    stdin?.on('error', onEnd).write(`${line}\n`);
  });
}
