import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoginMode } from '../../../rig/login-node/sshd-config.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { run } from '../../../../src/companions/verify/run-client.ts';
import { Canary } from './canary.ts';

const modes = ['plain', 'forced', 'login-shell'] as const;

/** Every byte except NUL, which no command can contain, and newline, which is tested separately. */
const bytes = Buffer.from([...Array(255).keys()].map((byte) => byte + 1).filter((b) => b !== 10));
const noise = Buffer.from(randomBytes(90_000).map((byte) => (byte === 0 ? 1 : byte)));
const quoted = (text: Buffer): Buffer =>
  Buffer.from(`'${text.toString('latin1').replaceAll("'", `'\\''`)}'`, 'latin1');
const printed = (text: Buffer): Buffer =>
  Buffer.concat([Buffer.from('printf %s '), quoted(text), Buffer.from(' | od -An -tx1')]);

/** Commands that careless code would evaluate twice, truncate, or parse as options. */
function commands(sing: (name: string) => string): Record<string, string | Buffer> {
  // The kernel's limit for one argument, less the name of the variable in which sshd puts it.
  const long = 128 * 1024 - 'SSH_ORIGINAL_COMMAND='.length - 1;
  return {
    substitution: `echo "a $(${sing('substitution')}; echo b) c"`,
    backticks: `echo \`${sing('backticks')}; echo b\``,
    'a second command': `echo a; ${sing('second')}; echo b`,
    'a background command': `${sing('background')} & wait; echo b`,
    newlines: `echo a\n${sing('newline')}\necho b\n\n`,
    'a newline first': `\n${sing('first')}\necho b`,
    'quotes left open': `echo "a; ${sing('open')}`,
    'quotes that close ours': `'; ${sing('quote')}; echo '`,
    'double quotes that close ours': `"; ${sing('quotes')}; echo "`,
    'an option first': '-c id',
    'two dashes': '--',
    'our own options': '--config /tmp/evil.yml',
    "a shell's option": `-c "${sing('option')}"`,
    'our own name and options': `/usr/lib/berth/shell/login --config /tmp/evil.yml`,
    variables: 'echo "$0 $# $@ $1 ${HOME} $SSH_ORIGINAL_COMMAND ${IFS}x" | tail -c 12',
    'glob and tilde': 'cd /; echo /et? ~+',
    'a comment': `echo a # ; ${sing('comment')}`,
    blanks: '   echo   "a   b"   ',
    'an exit': 'exit 7',
    'a name like sftp-server': 'echo sftp-server; false',
    'escapes of printf': `printf '%s\\n' '\\0351 \\c %s %b \\\\ \\'`,
    'every byte': printed(bytes),
    'bytes that are no UTF-8, and newlines at the end': Buffer.concat([
      printed(
        Buffer.from([0xe9, 0x5c, 0x63, 0xff, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0xed, 0xa0]),
      ),
      Buffer.from('; # \xff\n\n', 'latin1'),
    ]),
    '128 KiB': `printf %s '${'x'.repeat(long - 40)}' | md5sum`.padEnd(long, ' '),
    '128 KiB that are no UTF-8': Buffer.concat([
      Buffer.from('printf %s '),
      quoted(noise),
      Buffer.from(' | md5sum'),
    ]),
  };
}

const singing = new Map([
  ['substitution', ['substitution']],
  ['backticks', ['backticks']],
  ['a second command', ['second']],
  ['a background command', ['background']],
  ['newlines', ['newline']],
  ['a newline first', ['first']],
]);

interface End {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

describe('a command arrives as with plain sshd', () => {
  const hosts = new Map<LoginMode, SshHost>();
  const canaries = new Map<LoginMode, Canary>();
  beforeAll(async () => {
    const base = { image: 'localhost/berth-site:1', lifetime: 'user' };
    for (const mode of modes) {
      const host = await SshHost.start({ mode, users: { ada: [] }, profiles: { base } });
      hosts.set(mode, host);
      canaries.set(mode, await Canary.of(host, 'ada'));
    }
  });
  afterAll(async () => {
    for (const host of hosts.values()) await host.stop();
  });
  const on = (mode: LoginMode): SshHost => {
    const host = hosts.get(mode);
    if (host === undefined) throw new Error(`no host ${mode}`);
    return host;
  };

  /** Through a file and a shell, because Node's own arguments are text. */
  async function ended(mode: LoginMode, command: string | Buffer): Promise<End> {
    const host = on(mode);
    const options = [...host.clientOptions('ada'), '-p', String(host.port), 'ada@127.0.0.1'];
    // Read with a terminator, which is then removed.
    const script = 'IFS= read -r -d "" command; exec ssh "$@" -- "$command"';
    const input = Buffer.concat([Buffer.from(command), Buffer.from([0])]);
    const result = await run('bash', ['-c', script, 'bash', ...options], { input });
    // The shell prints its own path, which is that inside.
    const stderr = result.stderr.replaceAll('/bin/bash', 'bash');
    return { exitCode: result.exitCode, stdout: result.stdout.toString('latin1'), stderr };
  }

  const names = Object.keys(commands((name) => name));
  it.each(names)('%s', async (name) => {
    const all = modes.map(async (mode) => {
      const canary = canaries.get(mode);
      if (canary === undefined) throw new Error(`no canary ${mode}`);
      const command = commands((song) => canary.line(song))[name] ?? '';
      const end = await ended(mode, command);
      return { end, heard: await canary.heard() };
    });
    const [plain, ...others] = await Promise.all(all);
    for (const { end, heard } of others) {
      expect(end).toEqual(plain?.end);
      expect(heard).toEqual([]);
    }
    // On a plain host they do run, so the test is meaningful.
    expect(plain?.heard).toEqual(singing.get(name) ?? []);
  });
});
