import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, stat, utimes } from 'node:fs/promises';
import { same, succeeded, type Case } from './case.ts';
import type { Client } from './client.ts';

const awkward = `a b'c"$d;é`;

/** Files both ways with sftp and scp, which need different programs at the other end. */
export const transfer: readonly Case[] = [
  {
    name: 'sftp: put, get, ls, mkdir, rename, chmod, symlink, rm',
    run: async (client) => {
      const content = randomBytes(3_000_000);
      await client.keep('sftp-in', content);
      const dir = `${client.remote}/sftp`;
      const listing = await sftp(client, [
        ...[`mkdir ${dir}`, `cd ${dir}`, `put -p ${client.path('sftp-in')} one`, 'rename one two'],
        ...['chmod 640 two', 'symlink two link', `get two ${client.path('sftp-out')}`, 'ls -l'],
        ...['put /etc/passwd gone', 'rm gone', 'mkdir empty', 'rmdir empty', 'df'],
      ]);
      same('bytes', (await readFile(client.path('sftp-out'))).equals(content), true);
      same('listing', /^-rw-r----- .* 3000000 .* two$/m.test(listing), true);
      const stated = await client.output(`cd ${dir} && ls && stat -c %a two && readlink link`);
      same('behind the host', stated, 'link\ntwo\n640\ntwo\n');
    },
  },
  {
    name: 'sftp: directories with -r, and an awkward name',
    run: async (client) => {
      await mkdir(client.path('tree/sub'), { recursive: true });
      await client.keep(`tree/sub/${awkward}`, 'x');
      await sftp(client, [
        `put -r ${client.path('tree')} ${client.remote}/tree`,
        `get -r ${client.remote}/tree ${client.path('tree-back')}`,
      ]);
      same('content', await readFile(client.path(`tree-back/sub/${awkward}`), 'utf8'), 'x');
    },
  },
  {
    name: 'sftp: an interrupted transfer is resumed, both ways',
    run: async (client) => {
      const content = randomBytes(2_000_000);
      const file = await client.keep('resume', content);
      await client.keep('resume-back', content.subarray(0, 700_000));
      await client.ssh([`cat >${client.remote}/resume`], { input: content.subarray(0, 500_000) });
      await sftp(client, [
        `reput ${file} ${client.remote}/resume`,
        `reget ${client.remote}/resume ${client.path('resume-back')}`,
      ]);
      same('bytes', (await readFile(client.path('resume-back'))).equals(content), true);
    },
  },
  {
    name: 'sftp starts in the home, and has the same paths as a shell',
    run: async (client) => {
      await client.ssh([`echo seen >${client.remote}/seen; echo seen >/tmp/${client.remote}`]);
      const home = (await client.output('pwd -P')).trim();
      const said = await sftp(client, ['pwd', `ls ${home}/${client.remote}/seen`]);
      same('pwd', said.includes(`Remote working directory: ${home}`), true);
      await sftp(client, [`get /etc/os-release ${client.path('os-release')}`]);
      const wanted = await client.output('cat /etc/os-release');
      same('/etc/os-release', await readFile(client.path('os-release'), 'utf8'), wanted);
      await client.ssh([`rm -f /tmp/${client.remote}`]);
    },
  },
  scpCase('scp -O (the old protocol)', '-O'),
  scpCase('scp -s (over sftp)', '-s'),
  {
    name: 'scp -3 between two remote files, and -O with a pattern',
    run: async (client) => {
      const there = `${client.destination}:${client.remote}`;
      await client.output(`cd ${client.remote} && echo 1 >g1.txt && echo 2 >g2.txt`);
      await scp(client, ['-3', `${there}/g1.txt`, `${there}/g3.txt`]);
      await mkdir(client.path('globbed'));
      await scp(client, ['-O', `${there}/g*.txt`, client.path('globbed')]);
      const { stdout } = await client.run('sh', ['-c', `cat ${client.path('globbed')}/*`]);
      same('content', stdout.toString(), '1\n2\n1\n');
    },
  },
  {
    name: 'scp reports a missing file, and fails',
    run: async (client) => {
      for (const protocol of ['-O', '-s']) {
        const from = `${client.destination}:${client.remote}/no-such-file`;
        const result = await client.run(
          'scp',
          scpWords(client, [protocol, from, client.path('x')]),
        );
        same(protocol, [result.exitCode, /No such file/i.test(result.stderr)], [1, true]);
      }
    },
  },
];

function scpCase(title: string, protocol: string): Case {
  return {
    name: `${title}: files and directories both ways, with modes and times`,
    run: async (client) => {
      const content = randomBytes(3_000_000);
      const directory = `scp${protocol}`;
      await mkdir(client.path(`${directory}/sub`), { recursive: true });
      const file = await client.keep(`${directory}/sub/${awkward}`, content);
      await chmod(file, 0o750);
      await utimes(file, 1_000_000_000, 1_000_000_000);
      const there = `${client.destination}:${client.remote}`;
      await scp(client, [protocol, '-rp', client.path(directory), `${there}/`]);
      await scp(client, [
        protocol,
        '-rp',
        `${there}/${directory}`,
        client.path(`${directory}-back`),
      ]);
      const back = client.path(`${directory}-back/sub/${awkward}`);
      const { mode, mtime } = await stat(back);
      same('bytes', (await readFile(back)).equals(content), true);
      same('mode and time', [mode & 0o777, mtime.getTime()], [0o750, 1_000_000_000_000]);
    },
  };
}

function scpWords(client: Client, args: readonly string[]): string[] {
  return [...client.options, '-P', String(client.target.port), ...args];
}

async function scp(client: Client, args: readonly string[]): Promise<void> {
  succeeded('scp', await client.run('scp', scpWords(client, args)));
}

/** Runs a batch. @returns sftp's output. */
async function sftp(client: Client, lines: readonly string[]): Promise<string> {
  const batch = await client.keep('batch', `${lines.join('\n')}\n`);
  const words = ['-P', String(client.target.port), '-b', batch, client.destination];
  return succeeded(
    'sftp',
    await client.run('sftp', [...client.options, ...words]),
  ).stdout.toString();
}
