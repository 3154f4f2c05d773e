import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import type { SshHost } from '../login-node/ssh-host.ts';

export interface PortTaker {
  /** Whether the port could be had, for IPv6 or IPv4, at one address or all, or the socket. */
  readonly outcome: Promise<'listening' | 'in use'>;
  /** Ends it. @returns what clients have sent, or why they sent nothing, a text for each connection */
  end(): Promise<readonly string[]>;
}

/** A user of a host tries for some seconds to listen at a port, or the path of a socket, that somebody else's server has. */
export async function takePort(
  host: Pick<SshHost, 'entered'>,
  user: string,
  port: number | string,
  seconds: number,
): Promise<PortTaker> {
  const program = await readFile(new URL('take-port.py', import.meta.url), 'utf8');
  const argv = ['runuser', '-u', user, '--', 'python3', '-c', program, `${port}`, `${seconds}`];
  const [file = '', ...words] = host.entered(argv);
  const child = spawn(file, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  return {
    outcome: next() as Promise<'listening' | 'in use'>,
    end: async () => {
      child.stdin.end();
      return JSON.parse(await next()) as string[];
    },
  };
}
