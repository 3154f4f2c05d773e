import { describe, expect, it } from 'vitest';
import { brokerClientUid } from '../../../src/portal/answer-broker-request.ts';

const by = (socket: string) => () => Promise.resolve(socket);
const own = by('berth-broker@1000.socket');

describe('the instance name that systemd gives to a connection', () => {
  it.each([
    ['systemd 239 and 252', '0-4711-1000'],
    ['the millionth connection', '1000000-4711-1000'],
    ['newer ones, with the cookie of the socket', '12-8841-4711-1000'],
    ['and the number of the process', '12-8841-4711_90210-1000'],
  ])('has the UID last: %s', async (_, instance) => {
    expect(await brokerClientUid(instance, own)).toBe(1000);
  });

  it.each([
    ['nothing', ''],
    ['a client of another PID namespace', '0-unknown'],
    ['the same of newer ones', '0-8841-unknown'],
    ['the template, as nobody replaced it', '%i'],
    ['an address', '3-127.0.0.1:22-127.0.0.1:1000'],
    ['an address of IPv6', '3-::1:22-::1:1000'],
    ['a VSOCK', '0-2:1-3:1000'],
    ['a UID alone', '1000'],
    ['two numbers', '4711-1000'],
    ['more than there are', '1-2-3-4-1000'],
    ['a user by name', '0-4711-alice'],
    ['a second line', '0-4711-1000\n'],
    ['a UID with a sign', '0-4711--1'],
    ['the same UID in other words', '0-4711-01000'],
  ])('is refused where it does not name a user: %s', async (_, instance) => {
    await expect(brokerClientUid(instance, own)).rejects.toMatchObject({
      code: 'broker-caller-unknown',
    });
  });

  it.each([
    ['another user', 'berth-broker@1001.socket'],
    ['nobody', ''],
    ['two', 'berth-broker@1000.socket berth-broker@1001.socket'],
    ['something else', 'sshd.socket'],
  ])('is refused at the socket of %s', async (_, socket) => {
    await expect(brokerClientUid('0-4711-1000', by(socket))).rejects.toMatchObject({
      code: 'broker-socket-mismatch',
    });
  });

  it('is the name under which systemd is asked for the socket', async () => {
    const asked: string[] = [];
    await brokerClientUid('0-4711-1000', (unit) => {
      asked.push(unit);
      return own();
    });
    expect(asked).toEqual(['berth-broker@0-4711-1000.service']);
  });
});
