import { expect, it } from 'vitest';
import { run } from '../../../src/companions/verify/run-client.ts';

const listeners = new URL('../../../src/sessions/forwarding/helper/listeners.py', import.meta.url)
  .pathname;

/** Which addresses the helper tries for a socket of its own user, in order. Others may listen on those that it does not. */
it.each([
  ["socket.AF_INET, '0.0.0.0', 0", '127.0.0.1'],
  ["socket.AF_INET, '127.0.0.1', 0", '127.0.0.1'],
  // The last one is for hosts without ::1.
  ["socket.AF_INET6, '::', 0", '::1 127.0.0.1'],
  ["socket.AF_INET6, '::', 1", '::1 127.0.0.1'],
])('for a socket of %s: %s', async (socket, addresses) => {
  const script = `exec(open('${listeners}').read())
family, address, v6only = ${socket}
sock = socket.socket(family)
if v6only:
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
sock.bind((address, 0))
sock.listen()
print(*[where for _, where in listening_addresses(sock.getsockname()[1])])`;
  const { stdout, stderr } = await run('python3', ['-c', script]);
  expect([stdout.toString(), stderr]).toEqual([`${addresses}\n`, '']);
});
