import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { matches, same, succeeded, type Case } from './case.ts';
import type { Client } from './client.ts';
import { Terminal } from './terminal.ts';

const putty = ['putty-tools'];
const dropbear = ['dropbear-bin'];

/** Clients other than OpenSSH's. */
export const otherClients: readonly Case[] = [
  {
    name: 'PuTTY: plink runs a command, with bytes and exit code',
    packages: putty,
    run: async (client) => {
      const input = randomBytes(1_000_000);
      const { exitCode, stdout, stderr } = await client.run(
        'plink',
        [...(await puttyWords(client)), '-batch', client.destination, 'cat; echo err >&2; exit 6'],
        { input },
      );
      same('result', [exitCode, stdout.equals(input), stderr], [6, true, 'err\n']);
    },
  },
  {
    name: 'PuTTY: plink gets a shell on a terminal',
    packages: putty,
    run: async (client) => {
      const words = [...(await puttyWords(client)), '-batch', '-t', client.destination];
      const terminal = Terminal.open(client, ['plink', ...words], { rows: 29, columns: 88 });
      try {
        await terminal.shows(/[$#%>] $/);
        terminal.type('tty; echo $((40+2))\r');
        await terminal.shows(/\n\/dev\/pts\/\d+\r\n42\r/);
        terminal.type('exit 8\r');
        same('exit code', await terminal.ended(), 8);
      } finally {
        terminal.close();
      }
    },
  },
  {
    name: 'PuTTY: pscp and psftp, files both ways',
    packages: putty,
    run: async (client) => {
      const content = randomBytes(1_000_000);
      const file = await client.keep('pscp', content);
      const there = `${client.destination}:${client.remote}`;
      for (const protocol of ['-scp', '-sftp']) {
        const words = [...(await puttyWords(client)), '-batch', '-q', protocol];
        const back = client.path(`pscp${protocol}`);
        succeeded('pscp', await client.run('pscp', [...words, file, `${there}/pscp${protocol}`]));
        succeeded('pscp', await client.run('pscp', [...words, `${there}/pscp${protocol}`, back]));
        same(protocol, (await readFile(back)).equals(content), true);
      }
      const batch = await client.keep(
        'psftp',
        `cd ${client.remote}\nput ${file} psftp\nls\nquit\n`,
      );
      const words = [...(await puttyWords(client)), '-batch', '-b', batch, client.destination];
      const { stdout } = succeeded('psftp', await client.run('psftp', words));
      matches('listing', stdout.toString(), / 1000000 .* psftp$/m);
    },
  },
  {
    name: "dropbear's client: a command with bytes and exit code, a terminal",
    packages: dropbear,
    run: async (client) => {
      const key = client.path('key.dropbear');
      await client.local('dropbearconvert', ['openssh', 'dropbear', client.path('key'), key]);
      const words = ['-y', '-i', key, '-p', String(client.target.port)];
      const input = randomBytes(1_000_000);
      const piped = await client.run('dbclient', [...words, client.destination, 'cat; exit 4'], {
        input,
      });
      same('result', [piped.exitCode, piped.stdout.equals(input)], [4, true]);
      const terminal = Terminal.open(
        client,
        ['dbclient', ...words, '-t', client.destination, 'tty; stty size'],
        {
          ...{ rows: 27, columns: 66 },
        },
      );
      try {
        await terminal.shows(/\/dev\/pts\/\d+\r\n27 66\r\n/);
        same('exit code', await terminal.ended(), 0);
      } finally {
        terminal.close();
      }
    },
  },
];

/** Port, key and host key in the formats of PuTTY's tools. */
async function puttyWords(client: Client): Promise<string[]> {
  const key = client.path('key.ppk');
  await client.local('puttygen', [client.path('key'), '-O', 'private', '-o', key]);
  const lines = await client.local('ssh-keygen', ['-l', '-f', client.path('.ssh/known_hosts')]);
  const hostKeys = [...lines.matchAll(/SHA256:\S+/g)].flatMap(([print]) => ['-hostkey', print]);
  return ['-i', key, '-P', String(client.target.port), ...hostKeys];
}
