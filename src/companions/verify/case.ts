import type { Client } from './client.ts';

/** What sessions of Berth run in, and whether sshd starts them with a forced command. */
export type ServerTrait = 'podman' | 'pod' | 'slurm' | 'forced';

/** One thing that users do with SSH, run with a real client against any SSH server. */
export interface Case {
  readonly name: string;
  /** Programs that the client machine needs beside OpenSSH's, each with the Debian package that has it. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Why the case is known to fail, by what the server has. */
  readonly known?: Readonly<Partial<Record<ServerTrait, string>>>;
  /** Time limit of the whole case in milliseconds; default 90 s. */
  readonly timeoutMs?: number;
  /** @throws Error with the expected and the actual value, or `Skip` */
  readonly run: (client: Client) => Promise<void>;
}
