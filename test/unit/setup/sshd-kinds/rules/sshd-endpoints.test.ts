import { describe, expect, it } from 'vitest';
import { parseSshdConfigLines } from '../../../../../src/setup/sshd-lint/rules/config-lines.ts';
import { collides, endpointsOf } from '../../../../../src/setup/sshd-kinds/rules/sshd-endpoints.ts';

const endpoints = (text: string): string[] =>
  endpointsOf(parseSshdConfigLines(text).map((line) => ({ ...line, file: 'x', criteria: [] }))).map(
    ({ address, port }) => `${address} ${port}`,
  );

describe('where sshd listens', () => {
  it.each([
    ['', ['* 22']],
    ['Port 2222\nPort 2223', ['* 2222', '* 2223']],
    ['Port 2222\nListenAddress 192.0.2.1', ['192.0.2.1 2222']],
    ['ListenAddress 192.0.2.1:2022', ['192.0.2.1 2022']],
    ['ListenAddress [2001:db8::1]:2022', ['2001:db8::1 2022']],
    ['ListenAddress 2001:db8::1', ['2001:db8::1 22']],
    ['ListenAddress login1.example.org:2022', ['* 2022']],
    ['port=2222', ['* 2222']],
  ])('%j', (text, expected) => {
    expect(endpoints(text)).toEqual(expected);
  });
});

describe('two sshds at one port', () => {
  it.each([
    ['*', '192.0.2.1', true],
    ['::', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['127.0.0.1', '::1', false],
  ])('at %s and at %s: %s', (one, other, expected) => {
    expect(collides({ address: one, port: 22 }, { address: other, port: 22 })).toBe(expected);
    expect(collides({ address: one, port: 22 }, { address: other, port: 23 })).toBe(false);
  });
});
