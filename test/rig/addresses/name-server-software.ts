import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';

const examples = new URL('../../../etc/dns/', import.meta.url).pathname;

export type SoftwareName = 'knot' | 'bind';

/** A name server of Debian that the files of etc/dns configure. */
export interface NameServerSoftware {
  readonly packages: readonly string[];
  /** The account that it runs as. */
  readonly account: string;
  /** Where its configuration and its zones are; the test mounts directories there. */
  readonly etc: string;
  readonly zones: string;
  /** Its own directory in /run. */
  readonly run: string;
  /** Its file in etc/dns. */
  readonly config: string;
  /** Prints a TSIG key in the server's syntax. */
  readonly makeKey: readonly string[];
  /** Further files in `etc`. */
  readonly more: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

export const nameServerSoftware: Readonly<Record<SoftwareName, NameServerSoftware>> = {
  knot: {
    packages: ['knot', 'knot-dnsutils'],
    account: 'knot',
    ...{ etc: '/etc/knot', zones: '/var/lib/knot', run: '/run/knot' },
    config: 'knot.conf',
    makeKey: ['keymgr', '-t', 'external-dns', 'hmac-sha256'],
    more: {},
    argv: ['knotd', '-c', '/etc/knot/knot.conf'],
  },
  bind: {
    packages: ['bind9'],
    account: 'bind',
    ...{ etc: '/etc/bind', zones: '/var/lib/bind', run: '/run/named' },
    config: 'named.conf.local',
    makeKey: ['tsig-keygen', 'external-dns'],
    more: {
      'named.conf': `include "/etc/bind/named.conf.local";
options { directory "/var/cache/bind"; listen-on { 192.0.2.53; }; listen-on-v6 { none; }; recursion no; };
controls { };
`,
    },
    argv: ['named', '-g', '-u', 'bind'],
  },
};

/** Writes the example's files with a new key into directories to mount. @returns the key's secret, Base64 */
export async function writeNameServerFiles(
  software: NameServerSoftware,
  directory: string,
): Promise<string> {
  const [etc, zones] = [join(directory, 'etc'), join(directory, 'zones')];
  for (const part of [etc, zones]) await mkdir(part, { recursive: true, mode: 0o755 });
  await copyFile(join(examples, software.config), join(etc, software.config));
  await copyFile(join(examples, 'example.org.zone'), join(zones, 'example.org.zone'));
  const [command = '', ...args] = software.makeKey;
  const { stdout } = await execa(command, args);
  await writeFile(join(etc, 'external-dns.key'), `${stdout}\n`, { mode: 0o640 });
  for (const [name, text] of Object.entries(software.more)) await writeFile(join(etc, name), text);
  await execa('chown', ['-R', `${software.account}:${software.account}`, etc, zones]);
  const secret = /secret:? "?([^\s";]+)/.exec(stdout)?.[1];
  if (secret === undefined) throw new Error(`${command} printed no secret: ${stdout}`);
  return secret;
}
