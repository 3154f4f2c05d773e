import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../../../rig/wait-for.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { ensureCommand } from '../../../rig/site/debian-packages.ts';
import { installBerth, installDirectory } from '../../../rig/site/portal.ts';
import { recordCommand } from '../bounded-command.ts';
import type { RecordFigure } from '../figures.ts';
import type { ScalePart } from '../parts.ts';

const counts = [6_000, 20_000, 60_000];
const groups = 5_000;
/** Of the Match blocks, nine of ten are about a group, the others about a network. */
const blocks = 500;

const base = 'dc=site,dc=test';
const firstUid = 100_000;

/**
 * What the linter of sshd's configuration costs with many Match blocks and many accounts. The accounts are in a directory, slapd, that nslcd
 * enumerates and nscd keeps; each is in four of 5,000 groups. sshd asks for an account's groups again at each Match that
 * names a group, which takes a second without a cache, also at a login.
 */
export const sshdLint: ScalePart = {
  title: `Linting sshd's configuration with ${blocks} Match blocks`,
  async run(record) {
    await ensureCommand('time', 'time');
    await ensureCommand('nscd', 'nscd');
    await installBerth();
    for (const count of counts) await lintWith(count, record);
  },
};

async function lintWith(count: number, record: RecordFigure): Promise<void> {
  const ldap = {
    groups: { everybody: 61_000 },
    users: { first: { uid: 61_001, groups: ['everybody'] as const } },
  };
  const host = await SshHost.start({ mode: 'plain', users: {}, ldap });
  try {
    await addAccounts(host, count);
    await startCache(host);
    const login = join(installDirectory, 'shell/login');
    const input = await sshdConfig(login);
    await host.asRoot(['tee', '/etc/ssh/sshd_config.new'], { input });
    const argv = [join(installDirectory, 'berth'), 'sshd', 'lint', '--login', login];
    await recordCommand(record, {
      what: 'berth sshd lint',
      size: { count, of: 'accounts' },
      argv: host.entered([...argv, '--sshd-config', '/etc/ssh/sshd_config.new']),
    });
  } finally {
    await host.stop();
  }
}

/** nscd(8), in the PID namespace of the host, with which it ends. */
async function startCache(host: SshHost): Promise<void> {
  await writeFile(join(host.directory, 'nscd.conf'), nscdConf);
  const started = await host.asRoot([
    ...['sh', '-c', 'mkdir -p /run/nscd /var/cache/nscd && exec nscd -f "$0"'],
    join(host.directory, 'nscd.conf'),
  ]);
  if (started.exitCode !== 0) throw new Error(started.stderr);
}

/** Room for a large site's answers. */
const nscdConf = ['passwd', 'group']
  .map((database) =>
    [
      ...[`enable-cache ${database} yes`, `suggested-size ${database} 10007`],
      ...[`max-db-size ${database} 268435456`, `shared ${database} yes`],
      ...[`positive-time-to-live ${database} 3600`, ''],
    ].join('\n'),
  )
  .join('');

async function sshdConfig(login: string): Promise<string> {
  const example = new URL('../../../../etc/sshd/forced-command.conf', import.meta.url);
  const text = (await readFile(example, 'utf8'))
    .replace('AllowGroups berth', 'AllowGroups everybody')
    .replaceAll('/usr/lib/berth/shell/login', login);
  const match = Array.from({ length: blocks }, (_, index) => {
    const criterion =
      index % 10 === 0 ? `Address 10.${index / 10}.0.0/16` : `Group ${groupName(index * 10)}`;
    return `Match ${criterion}\n  ForceCommand ${login} --profile p${index}\n`;
  });
  return `HostKey /etc/ssh/host_key\n${text}\n${match.join('')}`;
}

const groupName = (index: number): string => `project${index % groups}`;

/** Adds accounts and their groups while slapd is down. */
async function addAccounts(host: SshHost, count: number): Promise<void> {
  await host.ldap.signal('TERM', 'slapd');
  await waitFor({ what: "slapd's end", timeoutMs: 30_000, everyMs: 50 }, async () =>
    (await host.asRoot(['pidof', 'slapd'])).exitCode === 1 ? true : undefined,
  );
  const conf = join(host.directory, 'directory/slapd.conf');
  await appendFile(conf, 'maxsize 2147483648\nsizelimit unlimited\n');
  const file = join(host.directory, 'directory/more.ldif');
  await writeFile(file, ldif(count));
  const added = await host.asRoot(['/usr/sbin/slapadd', '-q', '-f', conf, '-l', file], {
    timeout: 300_000,
  });
  if (added.exitCode !== 0) throw new Error(added.stderr);
  await host.ldap.startSlapd();
  const listed = async (): Promise<number> => {
    const { stdout } = await host.asRoot(['getent', 'passwd'], { timeout: 120_000 });
    return stdout.toString().match(/^person/gm)?.length ?? 0;
  };
  await waitFor({ what: 'nslcd to list them', timeoutMs: 60_000, everyMs: 500 }, async () =>
    (await listed()) === count ? true : undefined,
  );
}

/** Accounts and the groups that they are members of, with the schema of RFC 2307. */
function ldif(count: number): string {
  const entry = (...lines: readonly string[]): string => `${lines.join('\n')}\n\n`;
  const members = new Map<string, string[]>();
  const accounts: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = `person${index}`;
    accounts.push(
      entry(
        ...[`dn: uid=${name},ou=people,${base}`, 'objectClass: account'],
        ...['objectClass: posixAccount', `cn: ${name}`, `uid: ${name}`],
        ...[`uidNumber: ${firstUid + index}`, 'gidNumber: 61000'],
        ...[`homeDirectory: /home/${name}`, 'loginShell: /bin/sh'],
      ),
    );
    for (const nth of [0, 1, 2]) {
      const group = groupName(index * 7 + nth * 1_301);
      members.set(group, [...(members.get(group) ?? []), name]);
    }
  }
  const all = [...members].map(([name, names]) =>
    entry(
      ...[`dn: cn=${name},ou=groups,${base}`, 'objectClass: posixGroup'],
      ...[`cn: ${name}`, `gidNumber: ${gidOf(name)}`, ...names.map((one) => `memberUid: ${one}`)],
    ),
  );
  return [...accounts, ...all].join('');
}

const gidOf = (group: string): number => 300_000 + Number(group.slice('project'.length));
