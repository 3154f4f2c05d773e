import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { accountFiles } from '../site/account-files.ts';
import type { Account } from '../site/accounts.ts';
import { sshdConfig, type SshdConfig } from './sshd-config.ts';

export interface HostFiles {
  /** The host's name. */
  readonly name: string;
  readonly sshd: SshdConfig;
  readonly sshYml: object;
  readonly profiles: Readonly<Record<string, object>>;
  /** Further files, by path relative to /etc. */
  readonly etc: Readonly<Record<string, string>>;
  /** Lines appended to Debian's /etc/pam.d/sshd. */
  readonly pam: string;
  /** The users' login shell, if it differs from the machine's passwd(5). */
  readonly shell?: string;
  /** Directory of another host, whose accounts, homes, keys and host key this one has, too. */
  readonly beside?: string;
}

/** The message of the day. */
export const motd = 'Welcome to the login node of the test.\n';

/**
 * Writes the files of /etc that differ from the machine's, and the users' homes and keys, into `directory`.
 * The accounts are copied, so later changes of the machine's accounts do not affect the host.
 */
export async function writeHostFiles(directory: string, files: HostFiles): Promise<void> {
  const { users, address, port } = files.sshd;
  const { name: hostName, beside } = files;
  const shared = beside === undefined ? ['homes', 'keys'] : [];
  for (const name of ['etc', 'etc.work', 'storage', 'cache', ...shared])
    await mkdir(join(directory, name), { recursive: true, mode: 0o755 });
  await writeFile(
    join(directory, 'users'),
    users.map(({ uid, gid }) => `${uid} ${gid}\n`).join(''),
  );
  const etc = (name: string, text: string, mode = 0o644) =>
    writeAt(join(directory, 'etc', name), text, mode);

  const accounts = beside === undefined ? '/etc' : join(beside, 'etc');
  const taken = await accountFiles(
    accounts,
    users.map(({ name }) => name),
  );
  for (const [name, text] of taken) await etc(name, text, name.includes('shadow') ? 0o600 : 0o644);
  await etc('hosts', `127.0.0.1 localhost ${hostName}\n::1 localhost\n`);
  await etc('hostname', `${hostName}\n`);
  await etc('motd', motd);
  if (files.shell !== undefined) {
    await etc('passwd', withShell(taken.get('passwd') ?? '', users, files.shell));
    await etc('shells', `/bin/sh\n/bin/bash\n${files.shell}\n`);
  }
  await etc('pam.d/sshd', `${await readFile('/etc/pam.d/sshd', 'utf8')}\n${files.pam}\n`);
  await etc('rsyslog-of-test.conf', syslogConfig(join(directory, 'syslog')));
  await etc('ssh/sshd_config', sshdConfig(files.sshd));
  await etc('berth/ssh.yml', stringify(files.sshYml));
  await mkdir(join(directory, 'etc/berth/profiles'), { recursive: true });
  for (const [name, profile] of Object.entries(files.profiles))
    await etc(`berth/profiles/${name}.yml`, stringify(profile));

  for (const [name, text] of Object.entries(files.etc)) await etc(name, text);

  if (beside === undefined) await writeKeysAndHomes(directory, users);
  else await shareKeysAndHomes(directory, beside);
  const hostKey = await readFile(join(directory, 'etc/ssh/host_key.pub'), 'utf8');
  await writeFile(join(directory, 'known_hosts'), `[${address}]:${port} ${hostKey}`);
}

async function writeKeysAndHomes(directory: string, users: readonly Account[]): Promise<void> {
  await newKey(join(directory, 'etc/ssh/host_key'));
  for (const user of users) {
    const key = await newKey(keyOf(directory, user.name));
    await writeAt(join(directory, authorizedKeys, user.name), `${key}\n`, 0o644);
    await makeHome(join(directory, 'homes'), user);
  }
}

/** The homes are those of the other host; its keys are copied, as configuration management would. */
async function shareKeysAndHomes(directory: string, beside: string): Promise<void> {
  await symlink(join(beside, 'homes'), join(directory, 'homes'));
  for (const path of ['etc/ssh/host_key', 'etc/ssh/host_key.pub', authorizedKeys])
    await cp(join(beside, path), join(directory, path), {
      recursive: true,
      preserveTimestamps: true,
    });
}

const authorizedKeys = 'etc/ssh/authorized_keys';

/** Path of a user's private key. */
export function keyOf(directory: string, user: string): string {
  return join(directory, 'keys', user);
}

async function writeAt(path: string, text: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await writeFile(path, text, { mode });
  await chmod(path, mode);
}

/** Creates a key pair. @returns the public key as in authorized_keys, without a comment */
async function newKey(path: string): Promise<string> {
  await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path]);
  return (await readFile(`${path}.pub`, 'utf8')).trim();
}

async function makeHome(homes: string, { name, uid, gid }: Account): Promise<void> {
  const home = join(homes, name);
  await execa('cp', ['-r', '/etc/skel', home]);
  await execa('chown', ['-R', `${uid}:${gid}`, home]);
  await chmod(home, 0o700);
}

function withShell(passwd: string, users: readonly Account[], shell: string): string {
  const names = new Set(users.map(({ name }) => name));
  return passwd
    .split('\n')
    .map((line) => {
      const fields = line.split(':');
      return names.has(fields[0] ?? '') ? [...fields.slice(0, 6), shell].join(':') : line;
    })
    .join('\n');
}

function syslogConfig(file: string): string {
  const line = '%timegenerated:::date-rfc3339% %syslogpriority-text% %syslogtag%%msg%\\n';
  return `global(workDirectory="/run" maxMessageSize="64k")
module(load="imuxsock" SysSock.RateLimit.Interval="0")
template(name="line" type="string" string="${line}")
*.* action(type="omfile" file="${file}" template="line" fileCreateMode="0600")
*.* action(type="omfile" file="${file}.as-usual" template="RSYSLOG_FileFormat" fileCreateMode="0600")
`;
}
