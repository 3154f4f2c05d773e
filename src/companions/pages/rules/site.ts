import type { SshSettings } from '../../../config/schema/profile/profile.ts';
import type { NewsItem } from './news.ts';
import type { StatusRow } from './status.ts';

/** What the pages are made from. */
export interface Site {
  readonly title: string;
  /** What users type. */
  readonly host: string;
  readonly addresses: readonly SshAddress[];
  readonly hostKeys: readonly { readonly type: string; readonly fingerprint: string }[];
  /** Lines of known_hosts with the CAs of the host keys. */
  readonly authorities: readonly string[];
  readonly settings: Pick<SshSettings, 'rules' | 'profiles' | 'broken' | 'selfService'>;
  /** The newest first. */
  readonly news: readonly NewsItem[];
  readonly status: readonly StatusRow[];
}

/** Where users connect. */
export interface SshAddress {
  /** Of the kind of session, if there are kinds. */
  readonly name?: string | undefined;
  readonly host: string;
  readonly port: number;
  /** sshd's own port, behind a balancer another one: that of `ports` in rules. */
  readonly sshdPort: number;
  /** The profile of all its sessions; otherwise the rules of ssh.yml choose. */
  readonly profile?: string | undefined;
}

/** The command of a client for an address, with more words before the address. */
export function commandFor(
  program: 'ssh' | 'sftp',
  { host, port }: SshAddress,
  words: readonly string[] = [],
): string {
  const own = port === 22 ? [] : [program === 'ssh' ? '-p' : '-P', String(port)];
  return [program, ...own, ...words, `USER@${host}`].join(' ');
}
