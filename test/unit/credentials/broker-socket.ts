import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { brokerSocket } from '../../../src/credentials/broker-protocol.ts';

/** What berth-broker@UID.socket does: systemd's own socket activation, a process a connection. */
export async function listenAsSystemd(uid: number, command: string[]): Promise<ChildProcess> {
  const socket = brokerSocket(uid);
  await mkdir(dirname(socket), { recursive: true });
  await chmod(dirname(socket), 0o711);
  await rm(socket, { force: true });
  const options = ['--accept', '--inetd', '-l', socket];
  const listener = spawn('/usr/bin/systemd-socket-activate', [...options, ...command], {
    stdio: 'ignore',
    env: {},
  });
  while (!existsSync(socket)) await sleep(10);
  await chown(socket, uid, uid);
  await chmod(socket, 0o600);
  return listener;
}
