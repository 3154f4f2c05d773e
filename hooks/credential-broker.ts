import { parseArgs } from 'node:util';
import { openIssuer } from '../src/credentials/oidc/issuer.ts';
import { asBerthError } from '../src/system/errors/berth-error.ts';
import { issueUserToken } from '../src/clusters/access/issue-user-token.ts';
import { nameOfUid } from '../src/system/identity/name-of-uid.ts';
import { loadSiteSettings } from '../src/config/load/load-site-settings.ts';
import { errorAnswer, answerBrokerRequest } from '../src/portal/answer-broker-request.ts';
import { lineLogger } from '../src/log.ts';
import { EventSpool } from '../src/system/event-spool.ts';
import { httpsRequest } from '../src/system/https-request.ts';
import { writeAnswerLine } from '../src/system/request-line.ts';
import { readTrusted } from '../src/system/trusted-text.ts';
import { stderrSink } from '../src/system/exit-now.ts';
import { triggeringUnits } from '../src/system/systemd-units.ts';

/** What a user can cause at will: it must not hide, or look like, what fails for others. */
const refused: readonly string[] = [
  'broker-request-invalid',
  'broker-no-request',
  'credential-missing',
];

const now = (): number => Date.now() / 1000;
const spool = new EventSpool('credential-broker');
const log = lineLogger(stderrSink(), {}, spool.observe);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      config: { type: 'string' },
      connection: { type: 'string', default: '' },
    },
  });
  const files = values.config === undefined ? {} : { configFile: values.config };
  const { settings } = await loadSiteSettings(files);
  const { stateDir, clusters } = settings;
  const { answer, error, uid, cluster, session } = await answerBrokerRequest(
    {
      instance: values.connection,
      triggersOf: triggeringUnits,
      input: process.stdin,
      timeoutMs: 5_000,
    },
    {
      stateDir,
      clusters: () => Promise.resolve(clusters),
      https: httpsRequest,
      issuer: ({ issuer, caFile }) =>
        openIssuer(
          { issuer, stateDir, ...(caFile !== undefined && { ca: readTrusted(caFile) }) },
          { https: httpsRequest, now, timeoutMs: 6_000 },
        ),
      readCa: readTrusted,
      mintToken: (cluster, user) =>
        issueUserToken(cluster, user, {
          stateDir,
          remember: true,
          deadline: AbortSignal.timeout(6_000),
          clusterCount: clusters.length,
          // The namespace may have changed its owner since the hook ran.
          owned: false,
        }),
      nameOf: nameOfUid,
      now,
    },
  );
  const took = { took_ms: Math.round(performance.now()) };
  if (error === undefined) log.info('credential handed out', { session, uid, cluster, ...took });
  else log.error(error, { uid });
  spool.add('broker request', { result: resultOf(error?.code), ...took });
  writeAnswerLine(answer);
  return error?.exitCode ?? 0;
}

function resultOf(code: string | undefined): string {
  if (code === undefined) return 'success';
  return refused.includes(code) ? 'refused' : 'failure';
}

void main()
  .catch((thrown: unknown) => {
    const error = asBerthError(thrown, 'answering a request');
    log.error(error);
    // Such as a mistake in berth.yml: nobody gets a token.
    const took = { took_ms: Math.round(performance.now()) };
    spool.add('broker request', { result: 'failure', ...took });
    // Without an answer the client would assume that the connection limit is reached.
    writeAnswerLine(errorAnswer(error));
    return error.exitCode;
  })
  // A client that keeps its end open must not keep this process alive.
  .then((code) => {
    spool.write();
    process.exit(code);
  });
