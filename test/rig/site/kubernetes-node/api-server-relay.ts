// node api-server-relay.ts ADDRESS PORT HOST: what connects to ADDRESS:PORT reaches HOST:PORT. One process: one that forks, such
// as socat(1), ends when a test has used up all PIDs of the machine for a moment.
import { connect, createServer } from 'node:net';

const [address, port, host] = process.argv.slice(2);

createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const server = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
  client.pipe(server).pipe(client);
  client.on('error', () => server.destroy());
  server.on('error', () => client.destroy());
}).listen(Number(port), address);
