import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../rig/seeded-random.ts';
import { parseSshdConfigFiles } from '../../../src/setup/sshd-lint/sshd-effective.ts';
import {
  endpointMatching,
  type SshdConnection,
  matchesConnection,
} from '../../../src/setup/sshd-lint/rules/match.ts';
import { LintHost } from './lint-host.ts';

const sshd = '/usr/sbin/sshd';
let host: LintHost;

beforeAll(async () => {
  host = await LintHost.make([
    { name: 'ann', shell: '/bin/sh', groups: ['berth', 'staff.x', 'hpc admins'] },
    { name: 'a-b', shell: '/bin/sh', groups: ['guests'] },
  ]);
});
afterAll(() => host.remove());

const base = {
  host: 'client.invalid',
  address: '192.0.2.77',
  localAddress: '192.0.2.1',
  localPort: 22,
};
const ann = { ...base, user: 'ann', groups: ['ann', 'berth', 'staff.x', 'hpc admins'] };
const connections: SshdConnection[] = [
  ann,
  { ...base, user: 'a-b', groups: ['a-b', 'guests'], address: '10.1.2.3', localPort: 2222 },
  { ...base, user: 'nobody-there', groups: [], address: '2001:db8::5', host: 'n1.cluster' },
];

/** Conditions as sites write them, compared with sshd. */
const conditions = [
  'User ann',
  'User a*',
  'User a?b,ann',
  'User *,!ann',
  'User !ann',
  'User=ann',
  'User "ann"',
  'user ann # the first',
  'Group berth',
  'Group *,!guests',
  'Group staff.?',
  'Group berth,guests User a*',
  'Group "hpc admins"',
  'Group hpc?admins',
  'Address 10.0.0.0/8',
  'Address 10.0.0.0/8,192.0.2.*',
  'Address 192.0.2.0/24,!192.0.2.77',
  'Address 2001:db8::/32',
  'Address ::/0',
  'Address *',
  'LocalAddress 192.0.2.1',
  'LocalPort 2222',
  'LocalPort 22 User ann',
  'LocalPort ssh',
  'Host *.cluster',
  'Host *.CLUSTER,!n2.*',
  'all',
];

describe('Match', () => {
  it.each(conditions)('%s: matches as in sshd', async (condition) => {
    const config = `HostKey ${host.path('host_key')}\nMatch ${condition}\n  ForceCommand taken\n`;
    const file = await host.write('sshd_config', config);
    const { blocks } = await parseSshdConfigFiles(file, sshd);
    const [block] = blocks;
    if (block === undefined) throw new Error('no Match');
    // A connection that is meant to match a block does, for every matching account.
    const there = { ...base, ...endpointMatching(block, base) };
    for (const connection of [...connections, { ...ann, ...there }]) {
      const [printed] = await effective([file], connection);
      expect(matchesConnection(block, connection), testOf(connection)).toBe(
        printed?.includes('forcecommand taken'),
      );
    }
  });
});

describe('lines in any form', () => {
  const random = seededRandom(21);
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  /** Many of these forms are refused, depending on the release. */
  const separator = () =>
    one([' ', ' ', '  ', '\t', '=', '=', ' = ', '= ', ' =', '\t=\t', '==', ' = = ']);
  const cased = (word: string) => one([word, word.toLowerCase(), word.toUpperCase()]);
  const keyword = (word: string) =>
    one(['', '', '  ', '\t', '=']) + one([cased(word), `"${word}"`]);
  const end = () => one(['', '', ' ', '\t\r', ' # comment', ' #', '#x', ' "# no"']);
  const quoted = (text: string) => {
    const at = Math.floor(random() * text.length);
    const parts = [text.slice(0, at), text.slice(at)] as const;
    return one([
      ...[text, text, `"${text}"`, `"${text}"`, `'${text}'`, `${parts[0]}"${parts[1]}"`],
      ...[`"${parts[0]}"${parts[1]}`, `${parts[0]}'${parts[1]}'`, text.replaceAll(' ', '\\ ')],
      ...[`"${parts[0]}\\"${parts[1]}"`, `${parts[0]}\\${parts[1]}`, `"${text}`, `${text}\\`],
    ]);
  };

  it('Match applies to those to whom sshd applies it', async () => {
    const values: Readonly<Record<string, readonly string[]>> = {
      User: ['ann', 'a*', 'bob,ann', '!ann,*', 'a-b', 'a=b', '#ann'],
      Group: ['berth', 'hpc admins', 'hpc*', 'staff.x,guests', '!hpc admins,*', "o'neil"],
      Host: ['client.invalid', '*.INVALID', '*'],
      Address: ['192.0.2.0/24', '10.1.2.3'],
      LocalPort: ['22', '2222'],
    };
    const criterion = () => {
      const name = one(Object.keys(values));
      return `${cased(name)}${separator()}${quoted(one(values[name] ?? []))}`;
    };
    const criteria = () =>
      one([criterion, criterion, () => `${criterion()} ${criterion()}`, () => cased('all')])();
    const lines = Array.from(
      { length: 100 },
      () => `${keyword('Match')}${separator()}${criteria()}${end()}`,
    );
    const files = await writeEach(lines.map((line) => `${line}\n  ForceCommand taken`));
    const blocks = await Promise.all(
      files.map(async (file) => (await parseSshdConfigFiles(file, sshd)).blocks),
    );
    let applied = 0;
    const printed = await effective(files, ann);
    for (const [index, line] of lines.entries()) {
      const text = printed[index] ?? [];
      if (text.length === 0) continue;
      const taken = text.includes('forcecommand taken');
      const ours = blocks[index]?.map((block) => matchesConnection(block, ann));
      expect(ours, line).toEqual([taken]);
      if (taken) applied += 1;
    }
    expect(applied).toBeGreaterThan(20);
  });

  it('the arguments are those of sshd', async () => {
    const keywords = ['AllowUsers', 'DenyUsers', 'AllowGroups', 'DenyGroups', 'AcceptEnv'];
    const values = [
      'ann',
      'hpc admins',
      'a*',
      'b@10.*',
      '!x,y',
      'a=b',
      'c #d',
      '#e',
      'X\\Y',
      "o'neil",
    ];
    const lines = Array.from({ length: 100 }, () => {
      const words = Array.from({ length: one([1, 1, 2, 3]) }, () => quoted(one(values)));
      return `${keyword(one(keywords))}${separator()}${words.join(one([' ', '\t', '  ']))}${end()}`;
    });
    const files = await writeEach(lines);
    const printed = await effective(files, ann);
    let accepted = 0;
    for (const [index, line] of lines.entries()) {
      const text = printed[index] ?? [];
      if (text.length === 0) continue;
      const { directives } = await parseSshdConfigFiles(files[index] ?? '', sshd);
      const ours = directives
        .filter((directive) => directive.line === 2)
        .flatMap(({ keyword: word, args }) => args.map((argument) => `${word} ${argument}`));
      expect(ours.sort(), line).toEqual(
        text.filter((option) => /^(?:allow|deny)(?:users|groups) |^acceptenv /.test(option)).sort(),
      );
      accepted += 1;
    }
    expect(accepted).toBeGreaterThan(40);
  });
});

/** Configurations with the host key in the first line. */
async function writeEach(texts: readonly string[]): Promise<string[]> {
  const key = host.path('host_key');
  return await Promise.all(
    texts.map((text, index) => host.write(`each/${index}`, `HostKey ${key}\n${text}\n`)),
  );
}

/** What sshd prints for each configuration; nothing for one that it refuses. */
async function effective(
  files: readonly string[],
  connection: SshdConnection,
): Promise<readonly (readonly string[])[]> {
  const script =
    'for file in "$@"; do echo "== $file"; "$0" -T -f "$file" -C "$TEST" 2>/dev/null; done; true';
  const { command, words } = host.inside(['sh', '-c', script, sshd, ...files]);
  const { stdout } = await execa(command, words, { env: { TEST: testOf(connection) } });
  return stdout
    .split(/^== .*$/m)
    .slice(1)
    .map((text) =>
      text
        .split('\n')
        .map((line) => line.replace(/^\S+/, (word) => word.toLowerCase()))
        .filter((line) => line !== ''),
    );
}

function testOf({ user, host: name, address, localAddress, localPort }: SshdConnection): string {
  return `user=${user},host=${name},addr=${address},laddr=${localAddress},lport=${localPort}`;
}
