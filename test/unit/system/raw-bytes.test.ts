import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { holdsRawBytes, rawString, throughShell } from '../../../src/system/program/raw-bytes.ts';

/** What a program gets of a word. */
function handedOn(text: string): Buffer {
  return execFileSync('/bin/sh', throughShell(['/usr/bin/printf', '%s', text]).slice(1));
}

describe('words that are no UTF-8', () => {
  it('do not change valid text', () => {
    const text = 'a é \\0351 %s 😀 \ufffd';
    expect(rawString(Buffer.from(text))).toBe(text);
    expect(holdsRawBytes(text)).toBe(false);
  });

  it.each([
    ['Latin-1', Buffer.from('caf\xe9\xe9 \\', 'latin1')],
    ['cut characters', Buffer.from('f09f98c3e2', 'hex')],
    ['surrogates and overlong forms', Buffer.from('eda080c0afedb280', 'hex')],
    ['text around a byte', Buffer.concat([Buffer.from('é\\n%s\\c😀'), Buffer.from([0xff, 0x31])])],
  ])('are restored byte for byte: %s', (_, bytes) => {
    const text = rawString(bytes);
    expect(holdsRawBytes(text)).toBe(true);
    expect(handedOn(text)).toEqual(bytes);
  });

  it('are passed in parts that fit in an argument', () => {
    const bytes = Buffer.concat([
      Buffer.from('😀'.repeat(12_345)),
      randomBytes(60_000).map((byte) => (byte === 0 ? 1 : byte)),
    ]);
    const text = rawString(bytes);
    for (const word of throughShell(['printf', text]))
      expect(Buffer.byteLength(word)).toBeLessThan(128 * 1024);
    expect(handedOn(text)).toEqual(bytes);
  });
});
