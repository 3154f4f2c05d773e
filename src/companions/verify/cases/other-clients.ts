import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Case } from '../case.ts';
import { assertMatches, assertEqual, assertSuccess } from '../expect.ts';
import type { Client } from '../client.ts';
import { Terminal } from '../terminal.ts';

const puttyTools = 'putty-tools';
const putty = { plink: puttyTools, puttygen: puttyTools, pscp: puttyTools, psftp: puttyTools };
const dropbear = { dbclient: 'dropbear-bin', dropbearconvert: 'dropbear-bin' };

/** PuTTY's and Dropbear's clients. */
export const otherClients: readonly Case[] = [
  {
    name: 'PuTTY: plink runs a command; input, output and exit code are correct',
    programs: putty,
    run: async (client) => {
      const input = randomBytes(1_000_000);
      const { exitCode, stdout, stderr } = await client.runLocal(
        'plink',
        [
          ...(await puttyOptions(client)),
          '-batch',
          client.destination,
          'cat; echo err >&2; exit 6',
        ],
        { input },
      );
      assertEqual('result', [exitCode, stdout.equals(input), stderr], [6, true, 'err\n']);
    },
  },
  {
    name: 'PuTTY: plink opens a shell on a terminal',
    programs: putty,
    run: async (client) => {
      const args = [...(await puttyOptions(client)), '-batch', '-t', client.destination];
      const terminal = Terminal.open(client, ['plink', ...args], { rows: 29, columns: 88 });
      try {
        await terminal.waitForText(/[$#%>] $/);
        terminal.type('unset HISTFILE; tty; echo $((40+2))\r');
        await terminal.waitForText(/\n\/dev\/pts\/\d+\r\n42\r/);
        terminal.type('exit 8\r');
        assertEqual('exit code', await terminal.waitForExit(), 8);
      } finally {
        terminal.close();
      }
    },
  },
  {
    name: 'PuTTY: pscp and psftp upload and download files',
    programs: putty,
    run: async (client) => {
      const content = randomBytes(1_000_000);
      const file = await client.writeLocal('pscp', content);
      const there = `${client.destination}:${client.remoteDirectory}`;
      for (const protocol of ['-scp', '-sftp']) {
        const args = [...(await puttyOptions(client)), '-batch', '-q', protocol];
        const back = client.localPath(`pscp${protocol}`);
        assertSuccess(
          'pscp',
          await client.runLocal('pscp', [...args, file, `${there}/pscp${protocol}`]),
        );
        assertSuccess(
          'pscp',
          await client.runLocal('pscp', [...args, `${there}/pscp${protocol}`, back]),
        );
        assertEqual(protocol, (await readFile(back)).equals(content), true);
      }
      const batch = await client.writeLocal(
        'psftp',
        `cd ${client.remoteDirectory}\nput ${file} psftp\nls\nquit\n`,
      );
      const args = [...(await puttyOptions(client)), '-batch', '-b', batch, client.destination];
      const { stdout } = assertSuccess('psftp', await client.runLocal('psftp', args));
      assertMatches('listing', stdout.toString(), / 1000000 .* psftp$/m);
    },
  },
  {
    name: "Dropbear's client: a command with input, output and exit code; a terminal",
    programs: dropbear,
    run: async (client) => {
      const key = client.localPath('key.dropbear');
      await client.localOutput('dropbearconvert', [
        'openssh',
        'dropbear',
        client.localPath('key'),
        key,
      ]);
      const args = ['-y', '-i', key, '-p', String(client.target.port)];
      const input = randomBytes(1_000_000);
      const piped = await client.runLocal(
        'dbclient',
        [...args, client.destination, 'cat; exit 4'],
        {
          input,
        },
      );
      assertEqual('result', [piped.exitCode, piped.stdout.equals(input)], [4, true]);
      const terminal = Terminal.open(
        client,
        ['dbclient', ...args, '-t', client.destination, 'tty; stty size'],
        {
          rows: 27,
          columns: 66,
        },
      );
      try {
        await terminal.waitForText(/\/dev\/pts\/\d+\r\n27 66\r\n/);
        assertEqual('exit code', await terminal.waitForExit(), 0);
      } finally {
        terminal.close();
      }
    },
  },
];

/** Options with port, key and host key for PuTTY's tools, in PuTTY's formats. */
async function puttyOptions(client: Client): Promise<string[]> {
  const key = client.localPath('key.ppk');
  await client.localOutput('puttygen', [client.localPath('key'), '-O', 'private', '-o', key]);
  const lines = await client.localOutput('ssh-keygen', [
    '-l',
    '-f',
    client.localPath('.ssh/known_hosts'),
  ]);
  const hostKeys = [...lines.matchAll(/SHA256:\S+/g)].flatMap(([print]) => ['-hostkey', print]);
  return ['-i', key, '-P', String(client.target.port), ...hostKeys];
}
