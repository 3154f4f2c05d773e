import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { ExitMarkers } from '../../../../../src/sessions/exec/protocol/exit-marker.ts';
import {
  StartMarker,
  preambleLines,
  readPreamble,
} from '../../../../../src/sessions/exec/protocol/command-preamble.ts';

const nonce = 'f00d';
const mark = `\u001eberth begins ${nonce}\u001f`;

/** What a program gets of an opening, in these shells, and what it says. */
function run(shell: readonly string[], lines: readonly string[], typed = '') {
  const [file = '', ...args] = shell;
  const { stdout, stderr, status } = spawnSync(file, [...args, '-c', `(${readPreamble})`, nonce], {
    input: `${lines.join('\n')}\n${typed}`,
    env: { PATH: process.env.PATH },
  });
  const begin = new StartMarker(nonce);
  return { stdout: begin.pass(stdout), stderr: stderr.toString(), status, begun: begin.begun };
}

/** What each character makes: a shell has a use for some, a terminal for others, text for the rest. */
const text = `${Array.from({ length: 127 }, (_, index) => String.fromCharCode(index + 1)).join('')}\u0085é€\u{1f600}\n\n`;
const bytes = `raw \udce9\udcff${'\udc80'.repeat(600)}`;
const rawBytes = Buffer.concat([Buffer.from('raw \xe9\xff', 'latin1'), Buffer.alloc(600, 0x80)]);

describe.each([[['/bin/sh']], [['bash', '--norc']], [['bash', '--norc', '--posix']]])(
  'an opening in %j',
  (shell) => {
    it('passes arguments and values unchanged, and leaves the rest of the input', () => {
      const env = { TEXT: text, EMPTY: '', BYTES: bytes };
      const script = 'printf "%s|" "$@" "$TEXT" "$EMPTY" "$BYTES"; cat';
      const lines = preambleLines({ words: ['sh', '-c', script, 'sh', text, '', bytes], env });
      const { stdout, stderr, status } = run(shell, lines, 'typed\nand more');
      const parts = [text, '', rawBytes, text, '', rawBytes].flatMap((part) => [
        ...[Buffer.from(part), Buffer.from('|')],
      ]);
      expect(stdout.equals(Buffer.concat([...parts, Buffer.from('typed\nand more')]))).toBe(true);
      expect([stderr, status]).toEqual(['', 0]);
    });

    it('gives 100 KB of lines', () => {
      const long = "it's a line\n".repeat(9_000);
      const { stdout } = run(shell, preambleLines({ words: ['printf', '%s', long], env: {} }));
      expect(stdout.toString() === long).toBe(true);
    });

    it('of which a line is missing runs nothing', () => {
      const lines = preambleLines({ words: ['echo', 'ran'], env: { A: 'b' } });
      for (let count = 0; count < lines.length; count += 1) {
        const { stdout, status, begun } = run(shell, lines.slice(0, count));
        expect([stdout.toString(), status, begun]).toEqual(['', 255, false]);
      }
      expect(run(shell, lines).stdout.toString()).toBe('ran\n');
    });

    it("leaves no variables to the command, and hides the shell's warnings about locales", () => {
      const env = { LC_ALL: 'xx_YY.UTF-8', BERTH_CONNECTION: '1.2' };
      const { stdout, stderr } = run(shell, preambleLines({ words: ['env'], env }));
      const names = stdout.toString().match(/^\w+(?==)/gm) ?? [];
      const ofShell = ['PATH', 'PWD', 'OLDPWD', 'SHLVL', '_'];
      expect(names.filter((name) => !ofShell.includes(name)).toSorted()).toEqual([
        ...['BERTH_CONNECTION', 'LC_ALL'],
      ]);
      expect(stderr).toBe('');
    });
  },
);

describe('an opening that names groups', () => {
  const lines = preambleLines({ words: ['env'], env: {}, groups: '1000 5 20' });
  const madeWith = (groups: string | undefined) => {
    const { PATH } = process.env;
    const env = { PATH, ...(groups === undefined ? {} : { BERTH_GROUPS: groups }) };
    const { stdout, status } = spawnSync('/bin/sh', ['-c', `(${readPreamble})`, nonce], {
      ...{ input: `${lines.join('\n')}\n`, env },
    });
    const begin = new StartMarker(nonce);
    const said = [...stdout].map((byte) => begin.pass(Buffer.of(byte)).toString()).join('');
    return { said, status, begun: begin.begun, declined: begin.declined };
  };

  it('is refused, and nothing runs, in a pod with other groups', () => {
    for (const groups of ['1000 5', '5 1000 20', '1000 5 20 30', ''])
      expect(madeWith(groups)).toEqual({ said: '', status: 0, begun: false, declined: groups });
  });

  it('starts in a pod with the same groups, or in one that does not report them', () => {
    for (const groups of ['1000 5 20', undefined]) {
      const { said, begun, declined } = madeWith(groups);
      expect([begun, declined]).toEqual([true, undefined]);
      expect(said).toContain('PATH=');
      expect(said).not.toContain('BERTH_');
    }
  });
});

describe('the lines of an opening', () => {
  it("fit into a terminal's line and contain no control characters", () => {
    const worst = ['\n', "'", '\u0007', '\u0085', '\u{1f600}', '\udc80', '\ud800', '\\'];
    for (const one of worst) {
      const lines = preambleLines({ words: [one.repeat(2000)], env: { A: one.repeat(2000) } });
      for (const line of lines) {
        expect(Buffer.byteLength(line)).toBeLessThan(4095);
        expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f]*$/);
      }
    }
  });
});

describe('the mark of a command’s beginning', () => {
  it('ends the part that is not shown, wherever it is split', () => {
    const all = Buffer.from(`A='secret'\r\n\u001eberth begins f00${mark}own \u001e ${mark}`);
    for (let cut = 0; cut <= all.length; cut += 1) {
      const begin = new StartMarker(nonce);
      const own = [all.subarray(0, cut), all.subarray(cut)].map((part) => begin.pass(part));
      expect(Buffer.concat(own).toString()).toBe(`own \u001e ${mark}`);
    }
  });

  it('holds back no more bytes than its own length', () => {
    const begin = new StartMarker(nonce);
    for (let turn = 0; turn < 100; turn += 1)
      expect(begin.pass(Buffer.alloc(100_000, '\u001e')).length).toBe(0);
    expect(begin.begun).toBe(false);
    expect(begin.pass(Buffer.from(`${mark}own`)).toString()).toBe('own');
  });

  it('is not held back as a possible exit marker', () => {
    let passed = 0;
    new ExitMarkers(nonce, { tty: true }).pass('stdout', Buffer.from(mark), (bytes) => {
      passed += bytes.length;
    });
    expect(passed).toBe(mark.length);
  });
});
