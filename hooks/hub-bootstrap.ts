import { parseArgs } from 'node:util';
import { asBerthError, BerthError } from '../src/system/errors/berth-error.ts';
import { lineLogger } from '../src/log.ts';
import { hubUser, parseHubRequest } from '../src/portal/hub-user.ts';
import { stderrSink } from '../src/system/exit-now.ts';
import { EventSpool } from '../src/system/event-spool.ts';
import { readRequestLine, writeAnswerLine } from '../src/system/request-line.ts';

const spool = new EventSpool('hub-bootstrap');
const log = lineLogger(stderrSink(), {}, spool.observe);

/**
 * Answers one question of a JupyterHub on standard input and output: who an account is, and, with a cluster, to make its
 * namespace there.
 */
async function main(): Promise<number> {
  const { values } = parseArgs({ options: { config: { type: 'string' } } });
  const files = values.config === undefined ? {} : { configFile: values.config };
  const refuse = (_: string, message: string): BerthError =>
    new BerthError('hub-request-invalid', message);
  const line = await readRequestLine(process.stdin, { bytes: 4096, timeoutMs: 5000 }, refuse);
  const request = parseHubRequest(line);
  const now = (): number => Date.now() / 1000;
  const answer = await hubUser(request, files, { log: log.with({ user: request.user }), now });
  writeAnswerLine(answer);
  const { user, namespace } = answer;
  if (namespace === undefined) log.info('account looked up', { user });
  else log.info('namespace made for a hub', { user, cluster: request.cluster, namespace });
  return 0;
}

void main()
  .catch((thrown: unknown) => {
    const error = asBerthError(thrown, 'answering a hub');
    log.error(error);
    const { code, message } = error;
    writeAnswerLine({ error: { code, message } });
    return error.exitCode;
  })
  .then((code) => {
    spool.write();
    process.exit(code);
  });
