import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, stat, utimes } from 'node:fs/promises';
import type { Case } from '../case.ts';
import { assertEqual, assertSuccess } from '../expect.ts';
import type { Client } from '../client.ts';

const awkwardName = `a b'c"$d;é`;

/** File transfer with sftp and scp. */
export const transfer: readonly Case[] = [
  {
    name: 'sftp: put, get, ls, mkdir, rename, chmod, symlink, rm',
    run: async (client) => {
      const content = randomBytes(3_000_000);
      await client.writeLocal('sftp-in', content);
      const dir = `${client.remoteDirectory}/sftp`;
      const listing = await sftp(client, [
        `mkdir ${dir}`,
        `cd ${dir}`,
        `put -p ${client.localPath('sftp-in')} one`,
        'rename one two',
        'chmod 640 two',
        'symlink two link',
        `get two ${client.localPath('sftp-out')}`,
        'ls -l',
        'put /etc/passwd gone',
        'rm gone',
        'mkdir empty',
        'rmdir empty',
        'df',
      ]);
      assertEqual(
        'the same bytes come back',
        (await readFile(client.localPath('sftp-out'))).equals(content),
        true,
      );
      assertEqual('listing', /^-rw-r----- .* 3000000 .* two$/m.test(listing), true);
      const stated = await client.remoteOutput(
        `cd ${dir} && ls && stat -c %a two && readlink link`,
      );
      assertEqual('links, size and names after an upload', stated, 'link\ntwo\n640\ntwo\n');
    },
  },
  {
    name: 'sftp: directories with -r, and a file name with special characters',
    run: async (client) => {
      await mkdir(client.localPath('tree/sub'), { recursive: true });
      await client.writeLocal(`tree/sub/${awkwardName}`, 'x');
      await sftp(client, [
        `put -r ${client.localPath('tree')} ${client.remoteDirectory}/tree`,
        `get -r ${client.remoteDirectory}/tree ${client.localPath('tree-back')}`,
      ]);
      assertEqual(
        'content',
        await readFile(client.localPath(`tree-back/sub/${awkwardName}`), 'utf8'),
        'x',
      );
    },
  },
  {
    name: 'sftp: an interrupted upload and download are resumed',
    run: async (client) => {
      const content = randomBytes(2_000_000);
      const file = await client.writeLocal('resume', content);
      await client.writeLocal('resume-back', content.subarray(0, 700_000));
      await client.ssh([`cat >${client.remoteDirectory}/resume`], {
        input: content.subarray(0, 500_000),
      });
      await sftp(client, [
        `reput ${file} ${client.remoteDirectory}/resume`,
        `reget ${client.remoteDirectory}/resume ${client.localPath('resume-back')}`,
      ]);
      assertEqual(
        'the same bytes come back',
        (await readFile(client.localPath('resume-back'))).equals(content),
        true,
      );
    },
  },
  {
    name: 'sftp starts in the home directory and sees the same paths as a shell',
    run: async (client) => {
      await client.ssh([
        `echo seen >${client.remoteDirectory}/seen; echo seen >/tmp/${client.remoteDirectory}`,
      ]);
      const home = (await client.remoteOutput('pwd -P')).trim();
      const output = await sftp(client, ['pwd', `ls ${home}/${client.remoteDirectory}/seen`]);
      assertEqual('pwd', output.includes(`Remote working directory: ${home}`), true);
      await sftp(client, [`get /etc/os-release ${client.localPath('os-release')}`]);
      const wanted = await client.remoteOutput('cat /etc/os-release');
      assertEqual(
        '/etc/os-release',
        await readFile(client.localPath('os-release'), 'utf8'),
        wanted,
      );
      await client.ssh([`rm -f /tmp/${client.remoteDirectory}`]);
    },
  },
  scpCase('scp -O (the original protocol)', '-O'),
  scpCase('scp -s (the SFTP protocol)', '-s'),
  {
    name: 'scp -3 between two remote files, and scp -O with a glob',
    run: async (client) => {
      const there = `${client.destination}:${client.remoteDirectory}`;
      await client.remoteOutput(`cd ${client.remoteDirectory} && echo 1 >g1.txt && echo 2 >g2.txt`);
      await scp(client, ['-3', `${there}/g1.txt`, `${there}/g3.txt`]);
      await mkdir(client.localPath('globbed'));
      await scp(client, ['-O', `${there}/g*.txt`, client.localPath('globbed')]);
      const { stdout } = await client.runLocal('sh', [
        '-c',
        `cat ${client.localPath('globbed')}/*`,
      ]);
      assertEqual('content', stdout.toString(), '1\n2\n1\n');
    },
  },
  {
    name: 'scp reports a missing file and fails',
    run: async (client) => {
      for (const protocol of ['-O', '-s']) {
        const from = `${client.destination}:${client.remoteDirectory}/no-such-file`;
        const result = await client.runLocal(
          'scp',
          scpWords(client, [protocol, from, client.localPath('x')]),
        );
        assertEqual(protocol, [result.exitCode, /No such file/i.test(result.stderr)], [1, true]);
      }
    },
  },
];

function scpCase(title: string, protocol: string): Case {
  return {
    name: `${title}: upload and download of files and directories, with modes and times`,
    run: async (client) => {
      const content = randomBytes(3_000_000);
      const directory = `scp${protocol}`;
      await mkdir(client.localPath(`${directory}/sub`), { recursive: true });
      const file = await client.writeLocal(`${directory}/sub/${awkwardName}`, content);
      await chmod(file, 0o750);
      await utimes(file, 1_000_000_000, 1_000_000_000);
      const there = `${client.destination}:${client.remoteDirectory}`;
      await scp(client, [protocol, '-rp', client.localPath(directory), `${there}/`]);
      await scp(client, [
        protocol,
        '-rp',
        `${there}/${directory}`,
        client.localPath(`${directory}-back`),
      ]);
      const back = client.localPath(`${directory}-back/sub/${awkwardName}`);
      const { mode, mtime } = await stat(back);
      assertEqual('the same bytes come back', (await readFile(back)).equals(content), true);
      assertEqual('mode and time', [mode & 0o777, mtime.getTime()], [0o750, 1_000_000_000_000]);
    },
  };
}

function scpWords(client: Client, args: readonly string[]): string[] {
  return [...client.sshOptions, '-P', String(client.target.port), ...args];
}

async function scp(client: Client, args: readonly string[]): Promise<void> {
  assertSuccess('scp', await client.runLocal('scp', scpWords(client, args)));
}

/** Runs a batch of sftp commands. @returns its stdout */
async function sftp(client: Client, lines: readonly string[]): Promise<string> {
  const batch = await client.writeLocal('batch', `${lines.join('\n')}\n`);
  const batchArgs = ['-P', String(client.target.port), '-b', batch, client.destination];
  return assertSuccess(
    'sftp',
    await client.runLocal('sftp', [...client.sshOptions, ...batchArgs]),
  ).stdout.toString();
}
