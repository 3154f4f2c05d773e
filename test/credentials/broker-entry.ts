import { readFileSync, writeSync } from 'node:fs';
import type { ClusterSettings } from '../../src/config/settings.ts';
import { openIssuer } from '../../src/credentials/signing-keys.ts';
import { serveBroker } from '../../src/flows/serve-broker.ts';
import { httpsRequest } from '../../src/system/https-request.ts';
import { localSocketPath } from '../../src/system/local-socket.ts';

/** hooks/credential-broker.ts for one cluster whose settings are JSON: with what no berth.yml can say. */
const { stateDir, cluster } = JSON.parse(readFileSync(String(process.argv[2]), 'utf8')) as {
  stateDir: string;
  cluster: ClusterSettings;
};
const now = (): number => Date.now() / 1000;
const readCa = (file: string): string => readFileSync(file, 'utf8');

void serveBroker(
  {
    socketPath: localSocketPath(0),
    socketDir: '/run/berth/broker',
    input: process.stdin,
    patienceMs: 5_000,
  },
  {
    stateDir,
    clusters: () => Promise.resolve([cluster]),
    https: httpsRequest,
    issuer: ({ issuer, caFile }) =>
      openIssuer(
        { issuer, stateDir, ...(caFile !== undefined && { ca: readCa(caFile) }) },
        { https: httpsRequest, now, timeoutMs: 6_000 },
      ),
    readCa,
    now,
  },
).then(({ answer }) => {
  writeSync(1, `${JSON.stringify(answer)}\n`);
  process.stdin.destroy();
});
