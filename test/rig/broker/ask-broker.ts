import { spawn } from 'node:child_process';
import { type BrokerAnswer, brokerSocket } from '../../../src/credentials/broker-protocol.ts';
import type { BrokerHost } from './broker-host.ts';

/**
 * Sends any text to a user's broker, as that user.
 *
 * @param end false: the connection stays open after the text
 */
export function askBroker(
  host: BrokerHost,
  uid: number,
  text: string | Buffer,
  end: boolean,
): Promise<BrokerAnswer> {
  return new Promise((resolve) => {
    const program = `const path = ${JSON.stringify(brokerSocket(uid))};
      const connection = require('node:net').connect({ path, allowHalfOpen: true });
      process.stdin.pipe(connection).pipe(process.stdout);
      // The broker may exit before it has read everything; its answer has arrived by then.
      connection.on('error', () => {});
      connection.on('end', () => process.exit());`;
    const [file = '', ...words] = host.enterAs(uid, [process.execPath, '-e', program]);
    const child = spawn(file, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    let received = '';
    child.stdout.on('data', (data: Buffer) => (received += data.toString()));
    child.on('close', () => resolve(JSON.parse(received) as BrokerAnswer));
    if (end) child.stdin.end(text);
    else child.stdin.write(text);
  });
}
