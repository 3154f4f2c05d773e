import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inNetwork } from '../../rig/login-node/host-namespaces.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { endHolder, ip, namespaceOf, startHolder } from '../../rig/login-node/network-namespace.ts';
import { ForwardingHost } from '../../rig/logs/forwarding-host.ts';
import { LogAggregator } from '../../rig/logs/log-aggregator.ts';
import { relpFrames } from '../../rig/logs/relp-frames.ts';
import { extractedFields, splunkProps } from '../../rig/logs/splunk-fields.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { run, type ClientResult } from '../../../src/companions/verify/run-client.ts';

const [login1, login2] = ['login1.example.org', 'login2.example.org'];

let holder: ChildProcess;
let network: string;
let aggregator: LogAggregator;
let node: ForwardingHost;

beforeAll(async () => {
  holder = await startHolder();
  network = namespaceOf(holder);
  await ip(network, 'link', 'set', 'lo', 'up');
  aggregator = await LogAggregator.start(network);
  node = await ForwardingHost.start({
    ...{ network, ca: aggregator.ca, certificate: login1, mode: 'forced', users: { ada: [] } },
    pam: `session optional pam_exec.so quiet ${installDirectory}/hooks/pam-session`,
  });
});
afterAll(async () => {
  await node.stop();
  await aggregator.stop();
  await endHolder(holder);
});

const patient = { timeout: 60_000, interval: 50 };
const trace = (...words: string[]): Promise<ClientResult> =>
  run(join(installDirectory, 'berth'), ['trace', ...words]);

describe('an SSH session', () => {
  let lines: readonly string[];
  let id: string;

  beforeAll(async () => {
    const session = await LiveSession.startReady(node.host, 'ada', 'cat');
    await session.kill();
    lines = await waitFor({ what: 'the end of the session', timeoutMs: 60_000 }, async () => {
      const found = await aggregator.lines(login1);
      return found.at(-1)?.includes('msg="session closed"') === true ? found : undefined;
    });
    [id = ''] = /(?<=session=)\S+/.exec(lines.join('\n')) ?? [];
  });

  it('is in the file of its host and day, with the lines of sshd, and berth trace finds it there', async () => {
    expect(await aggregator.files()).toEqual([
      `${login1}/${new Date().toISOString().slice(0, 10)}.log`,
    ]);
    const local = (await node.local()).split('\n').filter((line) => / (?:berth|sshd)\b/.test(line));
    expect(lines).toEqual(local.map((line) => line.replace(' login1 ', ` ${login1} `)));
    const { exitCode, stdout } = await trace(id, '--file', aggregator.file(login1));
    expect(exitCode).toBe(0);
    for (const text of [
      'Accepted publickey for ada',
      'msg="session opened"',
      'msg="session closed"',
    ])
      expect(stdout.toString()).toContain(text);
  });

  it('has the fields in Splunk that Berth wrote, as far as its manual says how it reads them', async () => {
    const { berth } = await splunkProps();
    expect(berth).toMatchObject({ KV_MODE: 'auto_escaped', SHOULD_LINEMERGE: 'false' });
    const closed = lines.find((line) => line.includes('msg="session closed"')) ?? '';
    const fields = extractedFields(closed, berth);
    expect(fields).toMatchObject({ program: 'berth', level: 'info', msg: 'session closed' });
    expect(fields).toMatchObject({ user: 'ada', session: id });
    expect(Number(fields.seconds)).toBeGreaterThanOrEqual(0);
    const sshd = lines.find((line) => line.includes('Accepted publickey')) ?? '';
    expect(extractedFields(sshd, berth)).toMatchObject({
      program: 'sshd',
      pid: /\d+/.exec(id)?.[0],
    });
    const hostile = String.raw`2026-01-02T03:04:05.678901+01:00 h berth: level=error msg="a \"b=c\" \\" hint=x`;
    expect(extractedFields(hostile, berth)).toMatchObject({ msg: 'a "b=c" \\', hint: 'x' });
  });
});

describe('hostile text', () => {
  /** What a client with the certificate of login2 sends, whose root is an attacker. */
  const hostile = [
    '<13>1 2026-01-02T03:04:05Z login1.example.org berth 1 - - level=info msg="in the name of another"',
    '<13>1 2026-01-02T03:04:05Z ../../login1.example.org/../x ../../etc - - - path',
    `<13>1 2026-01-02T03:04:05Z ${'a/'.repeat(200)} x - - - long`,
    '<13>Jan  2 03:04:05 login1 sshd[1]: Accepted publickey for root\n<13>Jan  2 03:04:05 login1 sshd[1]: more',
    'no header \u001b[2J\u001b]0;title\u0007 \u009b31m \u2028 \u202e \r\n\0end',
    Buffer.from('<13>1 - - - - - - invalid \xff\xfe\xc3( utf-8', 'latin1'),
    `<13>1 - - berth - - - ${'y'.repeat(1024 * 1024)}`,
    '',
    '<999999999999>%s%n %inputname% %$now% `id` $(id)',
    '<13>1 2026-01-02T03:04:05Z h berth - - - last',
  ];

  it('from another host is in that host’s file only, one escaped line for each message', async () => {
    const before = await aggregator.lines(login1);
    const { cert, key } = await aggregator.ca.client(login2);
    const [file = '', ...words] = inNetwork(network, [
      ...['openssl', 's_client', '-quiet', '-connect', '127.0.0.1:2514'],
      ...['-cert', cert, '-key', key, '-CAfile', aggregator.ca.cert],
    ]);
    const { stdout } = await run(file, words, { input: relpFrames(hostile), timeout: 20_000 });
    expect(stdout.toString()).toContain('200 OK');
    const text = async (): Promise<string> => (await aggregator.lines(login2)).join('\n');
    await expect.poll(text, patient).toMatch(/ last$/);

    const lines = await aggregator.lines(login2);
    for (const line of lines) {
      expect(line).toMatch(
        /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) login2\.example\.org [ -~]*$/,
      );
      expect(line.length).toBeLessThan(66_000);
    }
    expect(await text()).toContain('#033[2J#033]0;title#007 #302#23331m');
    expect(await text()).toContain('invalid #377#376#303( utf-8');
    expect(await text()).toContain('Accepted publickey for root#012<13>Jan');
    expect(lines).toHaveLength(hostile.length);
    expect(lines.filter((line) => line.includes('yyyy'))).toHaveLength(1);
    expect(await aggregator.lines(login1)).toEqual(before);
    const day = new Date().toISOString().slice(0, 10);
    expect(await aggregator.files()).toEqual([`${login1}/${day}.log`, `${login2}/${day}.log`]);
  });

  it('from a user of the host is one line of that host, whatever it pretends to be', async () => {
    const before = (await aggregator.lines(login1)).length;
    const datagram =
      '<13>Jan  2 03:04:05 login2.example.org berth: in another name\n<13>berth: second \u001b[2J \u00ff';
    const { exitCode } = await node.host.asUser('ada', ['socat', '-', 'UNIX-SENDTO:/dev/log'], {
      input: Buffer.from(`<13>berth: ${datagram}`, 'latin1'),
    });
    expect(exitCode).toBe(0);
    const lines = async (): Promise<string[]> => (await aggregator.lines(login1)).slice(before);
    await expect.poll(async () => (await lines()).length, patient).toBe(1);
    expect((await lines())[0]).toMatch(/^\S+ login1\.example\.org berth: .*#012.*#033\[2J #377$/);
  });
});

describe('rotation', () => {
  const day = (ago: number): string =>
    new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);

  it('compresses past days, deletes old ones, and leaves alone what is not a day’s file', async () => {
    const directory = join(aggregator.hosts, login1);
    const line = `${day(1)}T00:00:00+00:00 ${login1} berth: level=info msg=x session=7.7@login1\n`;
    const files = [`${day(1)}.log`, `${day(30)}.log`, `${day(31)}.log.gz`, 'notes.txt'];
    for (const file of files) await writeFile(join(directory, file), line);
    await run('chown', ['65532:65532', ...files.map((file) => join(directory, file))]);
    await aggregator.rotate(30);
    // It was written to a moment ago.
    expect(await aggregator.files()).toContain(`${login1}/${day(1)}.log`);

    const made = files.map((file) => join(directory, file));
    await run('touch', ['-d', '10 minutes ago', ...made]);
    const today = await aggregator.lines(login1);
    await aggregator.rotate(30);
    expect((await aggregator.files()).filter((file) => file.startsWith(login1))).toEqual(
      [`${day(0)}.log`, `${day(1)}.log.gz`, `${day(30)}.log.gz`, 'notes.txt']
        .map((file) => `${login1}/${file}`)
        .sort(),
    );
    const compressed = join(directory, `${day(1)}.log.gz`);
    expect(gunzipSync(await readFile(compressed)).toString()).toBe(line);
    expect((await trace('7.7@login1', '--file', compressed)).stdout.toString()).toContain('msg=x');
    expect(await aggregator.lines(login1)).toEqual(today);
    expect(await aggregator.output()).toContain(`deleted /var/log/hosts/${login1}/${day(31)}`);
  });
});
