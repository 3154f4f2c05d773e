import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { PeerUids } from '../../../src/sessions/forwarding/peer-uids.ts';
import { freePorts } from '../../rig/free-ports.ts';

const uid = process.getuid?.() ?? 0;
/** Nobody's, where the test may choose. */
const stranger = uid === 0 ? 65_534 : uid;

/** Keeps 900 connections open or in the making, for ever: who is refused comes again at once. */
const flood = `
  const { connect } = require('node:net');
  const again = () => {
    const socket = connect(Number(process.argv[1]), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.on('close', again);
  };
  for (let n = 0; n < 900; n += 1) again();
`;

it(
  "the owner's connections get through while others flood the port",
  { timeout: 60_000 },
  async () => {
    const peers = new PeerUids();
    const answers = new Map<number, (uid: number | undefined) => void>();
    let strangers = 0;
    const accept = async (socket: Socket): Promise<void> => {
      socket.on('error', () => undefined);
      const port = socket.remotePort ?? 0;
      const here = { address: socket.localAddress ?? '', port: socket.localPort ?? 0 };
      const whose = await peers.of(here, { address: socket.remoteAddress ?? '', port });
      const asked = answers.get(port);
      if (asked === undefined) strangers += 1;
      else asked(whose);
      socket.destroy();
    };
    const server = createServer((socket) => void accept(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const flooders = [1, 2].map(() =>
      spawn(process.execPath, ['-e', flood, String(port)], { uid: stranger, stdio: 'ignore' }),
    );
    try {
      await expect.poll(() => strangers).toBeGreaterThan(2_000);
      const before = strangers;
      const seen: (number | undefined)[] = [];
      for (let turn = 0; turn < 20; turn += 1) {
        // Bound first, so that its number is known before it is answered.
        const { localPort } = await freePorts(['localPort']);
        const answer = new Promise<number | undefined>((resolve) =>
          answers.set(localPort, resolve),
        );
        const own = connect({ port, host: '127.0.0.1', localPort });
        await once(own, 'connect');
        seen.push(await answer);
        own.destroy();
      }
      expect(seen).toEqual(Array(20).fill(uid));
      // They went on all the while.
      expect(strangers).toBeGreaterThan(before + 500);
    } finally {
      for (const one of flooders) one.kill('SIGKILL');
      server.close();
    }
  },
);
