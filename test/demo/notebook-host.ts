import { writeJson } from '../rig/site/json-file.ts';
import { Browser } from '../rig/site/browser.ts';
import { ensureNode } from '../rig/site/kubernetes-node/node.ts';
import { openSite } from '../rig/site/site.ts';
import { renderHub } from '../rig/jupyterhub/hub-jobs.ts';
import { Hub } from '../rig/jupyterhub/hub.ts';
import { hubEnvironment } from '../rig/jupyterhub/hub-environment.ts';
import { hubKey, installHub } from '../rig/jupyterhub/install-hub.ts';
import { startPodHost } from '../rig/login-node/pod-host.ts';
import type { Notebook } from './notebook.ts';

/**
 * A separate program: a login node and a JupyterHub with one profile for both, until it is ended. It starts a notebook
 * of a user, runs a cell, and reads its file by ssh.
 *
 * notebook-host.ts USER FILE; writes a Notebook to FILE
 */
const [person = '', file = ''] = process.argv.slice(2);
const client = { clientId: 'demo-hub', secret: 'demo-hub-secret' };

const site = await openSite();
const node = await ensureNode(site);
await node.routePods();
await installHub(site);
await site.keycloak.putClient({ ...client, redirectUris: ['*'], protocol: 'openid-connect' });
/** Where a JupyterLab outside of Python's own directories has its parts. */
const lab = {
  PATH: '/opt/jupyter/bin:/usr/bin:/bin',
  PYTHONPATH: '/opt/jupyter',
  JUPYTER_PATH: '/opt/jupyter/share/jupyter',
  JUPYTER_CONFIG_PATH: '/opt/jupyter/etc/jupyter',
  JUPYTERLAB_DIR: '/opt/jupyter/share/jupyter/lab',
};
const { host, portal } = await startPodHost(site, {
  mode: 'forced',
  users: { [person]: ['projects'] },
  berth: { defaults: hubKey },
  mounts: [{ source: await hubEnvironment(), target: '/opt/jupyter', read_only: true }],
  profile: { lifetime: '8h', environment: { set: lab } },
});
const place = await Hub.makeDirectory();
const login = ['--login', 'oidc', '--client-id', client.clientId];
const secretFile = Hub.secretIn(place, 'client-secret');
const hub = await Hub.start(place, {
  ...{ portal, address: node.machineAddress, secrets: { 'client-secret': client.secret } },
  config: await renderHub(host, [
    ...['base', '--socket', Hub.socketIn(place), ...login, '--client-secret-file', secretFile],
  ]),
});

const browser = new Browser(site.ca.pem);
const page = await browser.open(`${hub.url}/hub/oauth_login?next=%2Fhub%2Ftoken`, person);
const user = await hub.tokenOf(browser, page);
const started = performance.now();
await user.startServer({ profile: 'base' });
const startMs = Math.round(performance.now() - started);
const code = `import subprocess
open('from-the-notebook', 'w').write('hello from a cell')
print(subprocess.getoutput('id'))`;
const cell = { code, output: await user.runCell(code) };
const command = 'id; cat from-the-notebook';
const { exitCode, stdout, stderr } = await host.ssh(person, [command]);
if (exitCode !== 0) throw new Error(`ssh exited with ${String(exitCode)}: ${stderr}`);
const destination = ['-p', String(host.port), `${person}@${host.address}`];
const done: Notebook = {
  ...{ address: `${hub.url}/user/${person}/lab`, startMs, cell },
  read: { command, output: stdout.toString() },
  ssh: ['ssh', ...host.clientOptions(person), ...destination].join(' '),
};
await writeJson(file, done);
