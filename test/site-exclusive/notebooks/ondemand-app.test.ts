import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { writeDirectory } from '../../../src/cli/render/write-directory.ts';
import { parseProfile } from '../../../src/config/schema/profile/profile-parse.ts';
import { ondemandApp } from '../../../src/companions/notebooks/rules/ondemand-app.ts';
import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import { AdmissionSite } from '../../rig/admission/admission-site.ts';
import { noSuchNode, testUser } from '../../rig/admission/test-user.ts';
import { renderApp, type RenderedApp } from '../../rig/ondemand/ondemand-app.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { openSite } from '../../rig/site/site.ts';

/** What ood_core's Kubernetes adapter made of the app; BERTH_OOD_CORE=DIR BERTH_RECORD=1 records it again. */
const recording = new URL('ood-core.json', import.meta.url);

const profile = parseProfile(
  {
    ...{ backend: 'pod', image: 'docker.io/jupyter/scipy-notebook:7a0c7325e470', pull: 'missing' },
    ...{ lifetime: '8h', limits: { cpus: 0.5, memory: '1G' } },
    mounts: [{ source: '/users/$USER', target: '$HOME' }],
    environment: { set: { GREETING: 'a $$5 `x` "q" \\ <%= 7 * 7 %> #{1} of $USER' } },
    pod: { node_selector: noSuchNode, pull_secret: 'ondemand-pull-secret' },
  },
  'notebook',
  'notebook.yml',
);
const user = { name: 'home', uid: testUser.uid, gid: testUser.gid, home: '/home/home' };

let directory: string;
let admission: AdmissionSite;
let app: RenderedApp;
/** Where the server listens: there is one network. */
let port: number;
/** The adapter's objects, in the user's namespace. */
let objects: Manifest[];

beforeAll(async () => {
  ({ port } = await freePorts(['port']));
  directory = await mkdtemp(join(publicDirectory, 'app-'));
  await execa('chmod', ['0755', directory]);
  await writeDirectory(directory, ondemandApp({ profile, kind: 'jupyter', cluster: 'prod' }));
  admission = await AdmissionSite.install(await openSite());
  app = await renderApp(directory, user, {
    form: { bc_num_hours: '99' },
    connection: { host: 'node"1', port: '30123', password: '<a&b>' },
    job: { namespace_prefix: 'user-' },
  });
  objects = await objectsOf(app);
});
afterAll(async () => {
  await admission.remove();
  await rm(directory, { recursive: true });
});

async function objectsOf({ submit, objects: made, version }: RenderedApp): Promise<Manifest[]> {
  const { native } = submit.script;
  if (made !== undefined && process.env.BERTH_RECORD !== undefined)
    await writeFile(recording, `${JSON.stringify({ version, native, objects: made }, null, 2)}\n`);
  const recorded = JSON.parse(await readFile(recording, 'utf8')) as {
    readonly native: object;
    readonly objects: string;
  };
  // Otherwise the recording is of another app.
  if (made === undefined) expect(native).toEqual(recorded.native);
  return parseAllDocuments(made ?? recorded.objects)
    .map((document) => document.toJS() as Manifest)
    .map((one) => ({ ...one, metadata: { ...one.metadata, namespace: admission.namespace } }));
}

const apply = (list: readonly object[], dryRun: string) =>
  admission.kubectl(['create', `--dry-run=${dryRun}`, '-f', '-'], {
    input: list.map((one) => stringify(one)).join('---\n'),
  });

describe('an app of OnDemand that is a profile', () => {
  it('asks for what the profile says, and not for more hours than it has', () => {
    const { batch_connect, script } = app.submit;
    expect(batch_connect.template).toBe('basic');
    expect(script.wall_time).toBe(8 * 3600);
    expect(script.native).toMatchObject({
      container: { name: 'jupyter', image: profile.image, cpu_limit: '0.5', port: 8080 },
      mounts: [{ type: 'host', path: '/users/home', destination_path: '/home/home' }],
      node_selector: noSuchNode,
    });
  });

  it('is a pod that the policies accept, with the profile’s values in it', async () => {
    const [pod] = objects;
    const accepted = await apply(objects, 'server');
    expect(accepted, accepted.stderr).toMatchObject({ exitCode: 0 });
    const spec = pod?.spec as { containers: { env: { name: string; value?: string }[] }[] };
    const value = spec.containers[0]?.env.find(({ name }) => name === 'GREETING')?.value;
    expect(value).toBe('a $5 `x` "q" \\ <%= 7 * 7 %> #{1} of home');
    expect(pod?.metadata.annotations).toMatchObject({ 'pod.kubernetes.io/lifetime': '08h00m00s' });
  });

  it.each([
    ['as another user', { securityContext: { runAsUser: 0, runAsNonRoot: false } }, 'runAsUser'],
    ["with others' files", { volumes: [{ name: 'v', hostPath: { path: '/root' } }] }, 'hostPath'],
    ['with the network of the host', { hostNetwork: true }, 'hostNetwork'],
  ])(
    'is refused %s',
    async (
      _,
      change: { readonly volumes?: object[]; readonly [field: string]: unknown },
      named,
    ) => {
      const { volumes = [], ...more } = change;
      const [pod] = objects;
      const spec = pod?.spec as { readonly volumes: readonly object[] };
      const hostile = {
        ...pod,
        spec: { ...spec, ...more, volumes: [...spec.volumes, ...volumes] },
      };
      const { exitCode, stderr } = await apply([hostile], 'server');
      expect(exitCode).toBe(1);
      expect(stderr).toContain(named);
    },
  );

  it('has a page with one button, whatever host and password are', () => {
    expect(app.view).toContain('action="/node/node&quot;1/30123/login" method="post"');
    expect(app.view).toContain('name="password" value="&lt;a&amp;b&gt;"');
  });

  it('says in the adapter’s Secret where it is, and keeps the password out of its environment', async () => {
    const { namespace, cluster } = admission;
    const [initializer] = parseAllDocuments(
      await readFile(new URL('../../../etc/kubernetes/roles/roles.yaml', import.meta.url), 'utf8'),
    ).map((document) => document.toJS() as Manifest & { rules: object });
    const rbac = 'rbac.authorization.k8s.io';
    const metadata = { name: 'ood-initializer', namespace };
    await cluster.create(
      { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: initializer?.rules },
      {
        ...{ apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'ood-initializer' },
        subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
      },
    );
    expect(await apply(objects, 'none')).toMatchObject({ exitCode: 0 });
    const name = objects[0]?.metadata.name ?? '';
    await cluster.kubectl([
      ...['patch', 'pod', name, `--namespace=${namespace}`, '--subresource=status'],
      ...['--type=merge', '--patch={"status": {"hostIP": "192.0.2.7"}}'],
    ]);

    const refused = async (env: readonly string[], ...command: string[]): Promise<string> => {
      const { stderr } = await execa('unshare', await startCommand(name, env, command), {
        reject: false,
      });
      expect(stderr).toMatch(/^berth: cannot .+: .+\nnext: .+$/);
      return stderr;
    };
    expect(await refused([], 'no-such-server')).toContain('cannot start no-such-server: it is not');
    expect(await refused(['POD_NAME='], 'env')).toContain('cannot read $POD_NAME: it is not set');
    expect(await refused(['POD_NAME=other'], 'env')).toContain(
      'GET pods/other at the API server: 404',
    );
    expect(await refused(['KUBERNETES_SERVICE_PORT=1'], 'env')).toContain('Connection refused');
    const busy = createServer();
    busy.listen(0);
    await once(busy, 'listening');
    const { port: taken } = busy.address() as AddressInfo;
    const inUse = await refused([`POD_PORT=${taken}`], 'env');
    expect(inUse).toContain(`cannot listen at port ${taken}: `);
    busy.close();

    const { stdout } = await execa('unshare', await startCommand(name, [], ['env']));
    const again = await refused([], 'env');
    expect(again).toMatch(
      /cannot POST secrets at the API server: 409 .*\nnext: start another session/s,
    );

    const env = Object.fromEntries(
      stdout.split('\n').map((line) => line.split('=') as [string, string]),
    );
    const secret = JSON.parse(
      (await admission.kubectl(['get', 'secret', `${name}-secret`, '-o', 'json'])).stdout,
    ) as Manifest & { data: Record<string, string> };
    const read = (key: string) => Buffer.from(secret.data[key] ?? '', 'base64').toString();
    expect(read('host')).toBe('192.0.2.7');
    expect(env).toMatchObject({
      BERTH_BASE_URL: `/node/192.0.2.7/${read('port')}/`,
      BERTH_PORT: String(port),
      BERTH_PASSWORD_HASH: expect.stringMatching(/^sha256:[0-9a-f]{16}:[0-9a-f]{64}$/) as unknown,
    });
    expect(read('password')).toMatch(/^[\w-]{32}$/);
    expect(stdout).not.toContain(read('password'));
    expect(secret.metadata.ownerReferences).toMatchObject([{ kind: 'Pod', name }]);
  });
});

/** Runs start.py, with a command as the server, in a place that has what a pod has: the ServiceAccount's token, and its variables. */
async function startCommand(
  pod: string,
  env: readonly string[],
  command: readonly string[],
): Promise<string[]> {
  const token = await admission.cluster.kubectl([
    ...['create', 'token', 'default', `--namespace=${admission.namespace}`],
  ]);
  const site = await openSite();
  const server = new URL(site.server);
  const files = join(directory, 'account');
  await execa('mkdir', ['-p', files]);
  await writeFile(join(files, 'token'), token);
  await writeFile(join(files, 'ca.crt'), site.ca.pem);
  const inside = '/run/secrets/kubernetes.io/serviceaccount';
  const { configmap } = app.submit.script.native as {
    configmap: { files: { filename: string; data: string }[] };
  };
  const script = configmap.files.find(({ filename }) => filename === 'start.py')?.data ?? '';
  await writeFile(join(directory, 'start.py'), script);
  return [
    ...['--mount', 'sh', '-c'],
    'mount -t tmpfs tmpfs /run && mkdir -p "$2" && cp "$1"/* "$2" && shift 2 && exec "$@"',
    ...['sh', files, inside, 'env', '-i', 'PATH=/usr/bin:/bin', `POD_NAME=${pod}`],
    ...[`POD_NAMESPACE=${admission.namespace}`, `POD_PORT=${port}`, 'BERTH_PROXY=node'],
    ...[`KUBERNETES_SERVICE_HOST=${server.hostname}`, `KUBERNETES_SERVICE_PORT=${server.port}`],
    ...[...env, 'python3', join(directory, 'start.py'), ...command],
  ];
}

it('is valid YAML in each of its other files', async () => {
  for (const file of ['manifest.yml', 'form.yml'])
    expect(parse(await readFile(join(directory, file), 'utf8'))).toBeTypeOf('object');
});
