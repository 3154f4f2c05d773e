import { describe, expect, it } from 'vitest';
import {
  cookieFields,
  cookieOf,
  forwardedDisplay,
} from '../../../../../src/sessions/forwarding/protocol/xauthority.ts';

const counted = (part: string | Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(part.length);
  return Buffer.concat([length, Buffer.from(part)]);
};
const entry = (display: string, data: Buffer): Buffer =>
  Buffer.concat([
    // FamilyLocal, as xauth writes `unix:10`.
    Buffer.from([1, 0]),
    ...['login1', display, 'MIT-MAGIC-COOKIE-1', data].map(counted),
  ]);
const [old, newer] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
const file = Buffer.concat([entry('10', old), entry('11', old), entry('10', newer)]);

describe("xauth's file", () => {
  it('has the cookie that sshd added last for a display', () => {
    expect(cookieOf(file, 10)).toMatchObject({ name: 'MIT-MAGIC-COOKIE-1', data: newer });
    expect(cookieOf(file, 12)).toBeUndefined();
  });

  it('is read without an incomplete end', () => {
    expect(cookieOf(file.subarray(0, -1), 10)?.data).toEqual(old);
    expect(cookieOf(Buffer.alloc(0), 10)).toBeUndefined();
    expect(cookieOf(Buffer.from('no such file at all'), 10)).toBeUndefined();
  });

  it('takes name and data as they stand in an entry', () => {
    const fields = cookieFields({ name: 'MIT-MAGIC-COOKIE-1', data: newer });
    expect(file.subarray(-fields.length)).toEqual(fields);
  });
});

describe('DISPLAY', () => {
  it('of a forwarded display has a number', () => {
    expect(forwardedDisplay('localhost:10.0')).toBe(10);
    expect(forwardedDisplay('login1.example.com:12')).toBe(12);
  });

  it.each([undefined, '', ':0', 'unix:/tmp/x', 'localhost:', 'localhost:10.0;x', '/tmp/x:1'])(
    'is ignored as %s',
    (display) => expect(forwardedDisplay(display)).toBeUndefined(),
  );
});
