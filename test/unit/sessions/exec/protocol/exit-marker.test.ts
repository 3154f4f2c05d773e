import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  ExitMarkers,
  withExitMarker,
} from '../../../../../src/sessions/exec/protocol/exit-marker.ts';
import {
  StartMarker,
  preambleLines,
} from '../../../../../src/sessions/exec/protocol/command-preamble.ts';

const nonce = 'f00d';
const mark = `\u001eberth ${nonce} 007\u001e`;

/** What a command wrote on stdout, in these parts, through the marks. */
function passed(parts: readonly Buffer[], tty = false) {
  const marks = new ExitMarkers(nonce, { tty });
  let text = '';
  if (!tty) marks.pass('stderr', Buffer.from(mark), () => undefined);
  const known = parts.map((part) =>
    marks.pass('stdout', part, (bytes) => (text += bytes.toString('latin1'))),
  );
  marks.release((_, bytes) => (text += bytes.toString('latin1')));
  return { text, exitCode: marks.exitCode, known: known.filter(Boolean).length };
}

/** Runs in the shell of this machine. */
function run(words: readonly string[], before?: string) {
  const [file = '', ...args] = withExitMarker(nonce, { tty: false });
  const lines = preambleLines({ words, env: {}, ...(before === undefined ? {} : { before }) });
  const input = [...lines, 'typed'].join('\n');
  const { stdout, stderr, status } = spawnSync(file, args, { input });
  const [begin, marks] = [new StartMarker(nonce), new ExitMarkers(nonce, { tty: false })];
  const said = { stdout: '', stderr: '' };
  marks.pass('stdout', begin.pass(stdout), (bytes) => (said.stdout += bytes.toString()));
  expect(begin.begun).toBe(true);
  expect(marks.exitCode).toBeUndefined();
  marks.pass('stderr', stderr, (bytes) => (said.stderr += bytes.toString()));
  return { ...said, status, exitCode: marks.exitCode };
}

describe('what may be the beginning of a mark', () => {
  const told = (marks: ExitMarkers, part: string): string => {
    let text = '';
    marks.pass(
      'stdout',
      Buffer.from(part, 'latin1'),
      (bytes) => (text += bytes.toString('latin1')),
    );
    return text;
  };
  const released = (marks: ExitMarkers): string => {
    let text = '';
    marks.release((_, bytes) => (text += bytes.toString('latin1')));
    return text;
  };

  it('is passed on if nothing more arrives, because a protocol may wait for it', () => {
    const marks = new ExitMarkers(nonce, { tty: false });
    expect([told(marks, 'ab\u001e'), marks.holds]).toEqual(['ab', true]);
    expect([released(marks), marks.holds, released(marks)]).toEqual(['\u001e', false, '']);
    expect([told(marks, 'c\u001e'), released(marks), told(marks, '\u001ed')]).toEqual([
      ...['c', '\u001e', '\u001ed'],
    ]);
    expect(marks.holds).toBe(false);
  });

  it('is recognized although its beginning was passed on, and nothing is passed on twice', () => {
    for (let cut = 1; cut < mark.length; cut += 1) {
      const marks = new ExitMarkers(nonce, { tty: true });
      expect(told(marks, `a${mark.slice(0, cut)}`)).toBe('a');
      expect(marks.holds).toBe(cut < mark.length - 4);
      expect(released(marks)).toBe(mark.slice(0, cut));
      expect(told(marks, mark.slice(cut))).toBe('');
      expect(marks.exitCode).toBe(7);
    }
  });

  it('that others wait for is not taken for what it is not', () => {
    const marks = new ExitMarkers(nonce, { tty: true });
    expect(told(marks, '\u001ebe')).toBe('');
    expect(released(marks)).toBe('\u001ebe');
    expect([told(marks, 'r'), released(marks), told(marks, 'x')]).toEqual(['', 'r', 'x']);
  });
});

describe('the mark of a command’s end', () => {
  it.each([
    ['alone', mark, ''],
    ['after output', `a\u001e\u001eberth f00${mark}`, 'a\u001e\u001eberth f00'],
    ['before what was left running writes', `a${mark}b\u001e`, 'ab\u001e'],
  ])('is found and removed %s, wherever it is split', (_, text, own) => {
    const bytes = Buffer.from(text, 'latin1');
    for (let cut = 0; cut <= bytes.length; cut += 1)
      expect(passed([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual({
        ...{ text: own, exitCode: 7, known: 1 },
      });
    expect(passed([...bytes].map((byte) => Buffer.of(byte))).text).toBe(own);
  });

  it.each([`\u001eberth f00e 007\u001e`, '\u001e\u001e', mark.slice(0, -1)])(
    'is not %j, and nothing of it is lost',
    (text) => {
      expect(passed([Buffer.from(text)])).toEqual({ text, exitCode: undefined, known: 0 });
    },
  );
});

describe('the mark on a terminal', () => {
  it.each(['abc', '   ', '-01', '1e1', '999'])('that says %j instead of a code is 255', (code) => {
    expect(passed([Buffer.from(mark.replace('007', code))]).exitCode).toBe(255);
  });

  it('ends the output, because the terminal echoes the answer', () => {
    expect(passed([Buffer.from(`a${mark}\r`), Buffer.from('\n')], true)).toEqual({
      ...{ text: 'a', exitCode: 7, known: 1 },
    });
  });
});

describe('a command with an exit marker', () => {
  it('reads, writes and ends as without', () => {
    expect(run(['sh', '-c', 'cat; echo err >&2; exit 42'])).toEqual({
      ...{ stdout: 'typed', stderr: 'err\n', status: 42, exitCode: 42 },
    });
  });

  it('keeps its arguments, whatever they contain', () => {
    const word = `$(id) "a'\n\\ *`;
    expect(run(['printf', '%s|', word, '']).stdout).toBe(`${word}||`);
  });

  it('says its end where it closed its output, was killed, or is not there', () => {
    expect(run(['sh', '-c', 'exec >&- 2>&-; exit 3']).exitCode).toBe(3);
    expect(run(['sh', '-c', 'kill -KILL $$']).exitCode).toBe(137);
    expect(run(['/no/such/program']).exitCode).toBe(127);
  });

  it('can be interrupted, as without', () => {
    expect(run(['sh', '-c', 'kill -INT $$; echo alive']).exitCode).toBe(130);
  });

  it('reads what its command left of its input, also in an image without cat', () => {
    const [file = '', ...args] = withExitMarker(nonce, { tty: false });
    const opening = preambleLines({ words: ['/bin/true'], env: {} }).join('\n');
    // More than a pipe holds: whoever writes gets EPIPE if nobody reads it.
    const input = `${opening}\n${'typed '.repeat(50_000)}`;
    for (const PATH of ['/usr/bin:/bin', '/nowhere']) {
      const { status, error } = spawnSync(file, args, { input, env: { PATH } });
      expect([status, error]).toEqual([0, undefined]);
    }
  });

  it('runs what is to be done before in its own shell', () => {
    const before = 'umask 027; shift; set -- echo "$@"';
    expect(run(['sh', '-c', 'x'], before).stdout).toBe('-c x\n');
    expect(run(['sh', '-c', 'umask'], 'umask 027').stdout).toBe('0027\n');
  });
});
