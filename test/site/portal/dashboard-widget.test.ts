import { randomUUID } from 'node:crypto';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialCachePath } from '../../../src/credentials/credential-cache.ts';
import { renderWidget } from '../../rig/ondemand/ondemand-app.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

const user = { name: 'wid.ann', uid: 5177, gid: 5178, home: '' };
const run = randomUUID().slice(0, 8);
/** As OnDemand's adapter computes it. */
const namespace = `w${run}-wid-ann`;
const image = 'registry.example.org/tools/shell:1';

let site: Site;
let cluster: LiveCluster;
let widgets: string;
let state: string;
let jobs: Readonly<Record<string, object>>;

const env = [{ name: 'TOKEN', value: 'a-secret' }];

const pod = (name: string, labels: Readonly<Record<string, string>>) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels } },
  spec: {
    nodeSelector: { 'berth.dev/nowhere': 'true' },
    containers: [{ name: 'main', image, resources: { limits: { cpu: '1', memory: '1Gi' } }, env }],
  },
});

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  user.home = await mkdtemp(join(publicDirectory, 'widget-'));
  widgets = join(user.home, 'widgets');
  state = join(user.home, '.local/state/berth/portal');
  await cp(new URL('../../../etc/ondemand/widgets', import.meta.url), widgets, { recursive: true });
  await mkdir(join(user.home, '.kube/cache/berth'), { recursive: true });
  await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await cluster.waitForControllers(namespace);
  const account = `--serviceaccount=${namespace}:default`;
  const view = ['create', 'rolebinding', 'view', '--clusterrole=view', account];
  await cluster.kubectl([...view, '-n', namespace]);
  const token = await cluster.kubectl(['create', 'token', 'default', '-n', namespace]);
  const expiry = Math.floor(Date.now() / 1000) + 3600;
  const credential = {
    version: 1,
    cluster: 'prod',
    server: site.server,
    token: token.trim(),
    expiry,
  };
  const cache = join(user.home, credentialCachePath(site.server));
  await writeFile(cache, JSON.stringify(credential), { mode: 0o600 });
  const ca = join(user.home, 'ca.pem');
  await writeFile(ca, site.ca.pem);
  jobs = {
    prod: {
      bin: site.kubectlPath,
      config_file: join(user.home, '.kube/config'),
      server: { endpoint: site.server, cert_authority_file: ca },
      namespace_prefix: `w${run}-`,
    },
  };
  await writeAsSession();
  await execa('chown', ['-R', `${user.uid}:${user.gid}`, user.home]);
  await cluster.create(
    {
      ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'berth', namespace } },
      spec: { hard: { 'limits.cpu': '16' } },
    },
    pod('berth-login', { 'app.kubernetes.io/managed-by': 'berth', 'berth.dev/profile': 'login' }),
    pod('jupyter-1', { 'app.kubernetes.io/managed-by': 'open-ondemand' }),
    pod('jupyter-2', { component: 'singleuser-server', 'berth.dev/profile': 'notebook' }),
  );
});
afterAll(async () => {
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  await rm(user.home, { recursive: true, maxRetries: 20 });
});
const credentialProgram = join(installDirectory, 'shell/kube-credential');
const render = (clusters: object = jobs, env = {}) =>
  renderWidget(user, widgets, clusters, { BERTH_CREDENTIAL: credentialProgram, ...env });

/** What a session can write in the home, for whatever reads it on the portal. */
async function writeAsSession(): Promise<void> {
  const trap = join(user.home, 'trap');
  await writeFile(trap, '#!/bin/sh\ntouch "$0.sprung"\n', { mode: 0o755 });
  const exec = {
    ...{ apiVersion: 'client.authentication.k8s.io/v1', command: trap },
    interactiveMode: 'Never',
  };
  const names = { cluster: 'berth', user: 'berth' };
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'berth' },
    clusters: [{ name: 'berth', cluster: { server: site.server } }],
    users: [{ name: 'berth', user: { exec } }],
    contexts: [{ name: 'berth', context: { ...names, namespace } }],
  };
  const kuberc = {
    ...{ apiVersion: 'kubectl.config.k8s.io/v1beta1', kind: 'Preference' },
    defaults: [{ command: 'get', options: [{ name: 'context', default: 'trapped' }] }],
  };
  await writeFile(join(user.home, '.kube/config'), JSON.stringify(kubeconfig));
  await writeFile(join(user.home, '.kube/kuberc'), JSON.stringify(kuberc));
}

/** A cluster that is not there: nothing writes its file while a test does. */
const absent = { absent: { bin: '/bin/false' } };

/** What the widget shows when the file of that cluster has this content. */
async function withFile(text: string): Promise<string> {
  await mkdir(state, { recursive: true });
  const file = join(state, 'absent.json');
  await rm(file, { force: true });
  await writeFile(file, text);
  await execa('chown', ['-R', `${user.uid}:${user.gid}`, join(user.home, '.local')]);
  return render(absent);
}

describe("the widget of OnDemand's dashboard", () => {
  it('shows quota and sessions of the namespace as the user sees them, once they are looked up', async () => {
    expect(await render()).toContain('are being looked up: reload the page');
    const env = {
      BERTH_LOGIN_HOST: 'login.example.org',
      BERTH_HUB_URL: 'https://hub.example.org/',
    };
    await expect.poll(() => render(jobs, env)).toContain('<table');

    const html = await render(jobs, env);
    expect(html).toContain(`Namespace <code>${namespace}</code>`);
    expect(html).toMatch(/<td>limits.cpu<\/td><td>[0-9]<\/td><td>16<\/td>/);
    expect(html).toContain('<code>ssh wid.ann@login.example.org</code>');
    expect(html).toContain('<a href="/pun/sys/dashboard/batch_connect/sessions">');
    expect(html).toContain('<a href="https://hub.example.org/">');
    expect(html.match(/<td>Pending<\/td>/g)).toHaveLength(3);
    expect(html.match(/<td>(?:login|–|notebook)<\/td>/g)).toHaveLength(3);
    const kept = await readFile(join(state, 'prod.json'), 'utf8');
    expect(kept).not.toMatch(/a-secret|TOKEN|annotations/);
  });

  it('runs nothing that the home names', async () => {
    expect(await readdir(user.home)).not.toContain('trap.sprung');
  });

  it('says so if an answer does not come: the home, kubectl, or what is not installed', async () => {
    const hang = join(user.home, 'hang');
    // It ends with the test's directory.
    await writeFile(hang, '#!/bin/sh\nwhile [ -e "$0" ]; do sleep 0.2; done\n', { mode: 0o755 });
    const hanging = { hanging: { bin: hang } };
    expect(await render(hanging)).toMatch(/being looked up: .* see whether your home is full/);
    const file = join(state, 'hanging.json');
    await writeFile(file, '{"items": []}', { mode: 0o644 });
    expect(await render(hanging)).not.toContain('A newer answer');
    await utimes(file, 0, Date.now() / 1000 - 3600);
    expect(await render(hanging)).toMatch(/As of .*A newer answer is on its way/);

    const missing = await render(absent, { BERTH_STATUS: '/nowhere/berth-status' });
    expect(missing).toContain('the portal has no <code>/nowhere/berth-status</code>');
    expect(missing).toContain('Nothing is known of quota and sessions.');
    await render(absent);
    const silent = expect.poll(() => render(absent));
    await silent.toContain('did not answer: kubectl exited with status 1 and said nothing');

    const program = join(widgets, 'berth-status');
    const text = await readFile(program, 'utf8');
    await writeFile(program, text.replace('most_seconds=60', 'most_seconds=1'));
    const slow = { slow: { bin: hang } };
    const ended = expect.poll(() => render(slow));
    await ended.toContain('did not answer: kubectl has not ended within 1 s');
  });

  it('says why a cluster could not be asked', async () => {
    const gone = { gone: { ...jobs.prod, server: { endpoint: 'https://127.0.0.1:9' } } };
    await render(gone);
    const shown = expect.poll(() => render(gone));
    await shown.toMatch(/did not answer: .*there is no credential for https:\/\/127\.0\.0\.1:9/s);
    expect(await render(gone)).toContain('Nothing is known of quota and sessions.');
  });

  it('says until when the credential of kubectl is valid', async () => {
    const file = join(user.home, '.kube/cache/berth/api.json');
    const expiry = Math.floor(Date.now() / 1000) + 3600;
    const credential = { version: 1, cluster: 'absent', token: 'the-token', expiry };
    await writeFile(file, JSON.stringify(credential));
    expect(await render(absent)).toMatch(
      /credential is valid until .*: log in to the portal again/,
    );
    await writeFile(file, JSON.stringify({ ...credential, expiry: 1, refresh: { by: 'broker' } }));
    const html = await render(absent);
    expect(html).toMatch(/credential expired 1 Jan, 00:00, and is renewed when it is used/);
    expect(html).not.toContain('the-token');
  });

  it.each([
    ['no JSON', '{'],
    ['something else', '{"items": 1}'],
    ['a list', '[]'],
    ['deep', '['.repeat(100_000)],
    ['empty', ''],
  ])('shows a sentence if the file is broken: %s', async (_, text) => {
    expect(await withFile(text)).toContain('cannot be read. It is asked again');
  });

  it('does not read a symlink, a FIFO or a large file', async () => {
    const path = join(state, 'absent.json');
    const quota = { kind: 'ResourceQuota', status: { hard: { pods: '5' }, used: { pods: '1' } } };
    const text = JSON.stringify({ items: [quota] });
    expect(await withFile(text)).toContain('<td>pods</td>');

    // Whether it is asked or could not be, nothing is known.
    const unknown = /are being looked up|Nothing is known/;
    expect(await withFile(text + ' '.repeat(2 * 1024 * 1024))).toMatch(unknown);
    const elsewhere = join(user.home, 'elsewhere.json');
    await writeFile(elsewhere, text);
    await rm(path);
    await symlink(elsewhere, path);
    expect(await render(absent)).toMatch(unknown);
    await rm(path);
    await execa('mkfifo', ['--mode=0666', path]);
    expect(await render(absent)).toMatch(unknown);
  });

  it('shows every text as text', async () => {
    const evil = '"><script>alert(1)</script>';
    const html = await withFile(
      JSON.stringify({
        items: [
          {
            kind: 'Pod',
            metadata: { labels: { 'berth.dev/profile': evil } },
            status: { phase: evil },
          },
          { kind: 'ResourceQuota', status: { hard: { [evil]: evil }, used: { [evil]: [evil] } } },
          { kind: 'Pod', metadata: 7, status: [] },
          null,
        ],
      }),
    );
    expect(html).not.toContain('<script');
    expect(html.match(/&lt;script&gt;/g)).toHaveLength(5);
  });
});
