import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { stampRequest } from '../../src/kube/requests.ts';
import { hookRequests } from '../rig/site/hook-requests.ts';
import type { AuditEvent } from '../rig/site/kubernetes/audit.ts';
import { LiveCluster } from '../rig/site/live-cluster.ts';
import { installDirectory } from '../rig/site/portal.ts';
import type { Bench } from './bench-portal.ts';
import { hookCommand } from './logins.ts';
import { type Command, measure } from './measure.ts';

/** Nothing but the requests: no settings, no user, no credentials, no errors. */
const program = `const { connect } = require('node:http2');
const { readFileSync } = require('node:fs');
const { server, ca, token, requests } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const session = connect(server, { ca: readFileSync(ca) });
let left = requests.length;
for (const { method, path, contentType, body } of requests) {
  const headers = { ':method': method, ':path': path, authorization: 'Bearer ' + token };
  if (contentType !== undefined) headers['content-type'] = contentType;
  const stream = session.request(headers, { endStream: body === undefined });
  stream.on('response', (answer) => {
    if (answer[':status'] >= 300) throw new Error(method + ' ' + path + ': ' + answer[':status']);
  });
  stream.resume();
  stream.on('end', () => {
    if ((left -= 1) === 0) session.destroy();
  });
  if (body !== undefined) stream.end(body);
}
`;

const methods: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  patch: 'PATCH',
};

/** The floor of a later login: a Node program that sends the hook's requests on one connection, all at once. */
export async function floorCommand(bench: Bench, user: string): Promise<Command> {
  const { portal, site } = bench;
  const mark = await site.audit.mark();
  await measure(await hookCommand(bench, user)());
  const events = await hookRequests(portal, mark);
  const requests = await Promise.all(events.map((event) => repeated(bench, user, event)));
  const kubeconfig = parse(await readFile(portal.files.kubeconfig, 'utf8')) as {
    users: [{ user: { token: string } }];
  };
  const { token } = kubeconfig.users[0].user;
  const script = join(portal.directory, 'floor.js');
  const input = join(portal.directory, 'floor.json');
  await writeFile(script, program);
  const text = JSON.stringify({ server: site.server, ca: site.ca.file, token, requests });
  await writeFile(input, text, { mode: 0o600 });
  return {
    file: join(installDirectory, 'node'),
    // As in the first line of the installed programs.
    args: ['--v8-pool-size=0', '--use-openssl-ca', script, input],
    env: portal.environment(),
  };
}

async function repeated(
  { site }: Bench,
  user: string,
  { verb, requestURI: path, objectRef }: AuditEvent,
): Promise<object> {
  const method = methods[verb] ?? verb;
  if (method === 'GET') return { method, path };
  const name = objectRef?.name ?? '';
  const live = await new LiveCluster(site).get('namespace', name);
  if (method !== 'PATCH' || objectRef?.resource !== 'namespaces' || live === undefined)
    throw new Error(`a later login of ${user} is not expected to ${verb} ${path}`);
  const { labels = {}, annotations = {} } = live.metadata;
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels, annotations },
  };
  return stampRequest(namespace as Parameters<typeof stampRequest>[0]);
}
