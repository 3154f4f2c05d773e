import { randomUUID } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withoutApiServer } from '../../rig/site/kubernetes/api-server-outage.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { execInPod, createAndWait, sleepingPod } from '../../rig/site/sleeping-pod.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let node: TestNode;
let cluster: LiveCluster;
let newcomers: TestUsers;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  if (site.skipReason('node') === undefined) node = await ensureNode(site);
}, 600_000);

beforeEach(({ skip }) => {
  const reason = site.skipReason('node');
  skip(reason !== undefined, reason);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
});

/** Someone with a namespace that the hook made, and the registry's password in it or not. */
async function someone(name: string, options: { pullSecret: boolean }) {
  const account = await newcomers.create(name);
  const portal = await Portal.make(site, {
    clusters: { prod: { auth: { type: 'managed' } } },
    hookEnv: options.pullSecret ? {} : { IMAGE_PULL_SECRET: '', REGISTRY_DOCKER_CONFIG_JSON: '' },
  });
  await writeFile(portal.files.dockerConfig, node.registry.dockerConfig);
  const { exitCode, stderr } = await portal.prePun(name);
  expect(exitCode, stderr).toBe(0);
  await portal.remove();
  await cluster.waitForControllers(account.namespace);
  return account;
}

describe('the node of the site', () => {
  it('is the one node of the cluster, and Ready by its own runtime', async () => {
    const version = '{.status.nodeInfo.containerRuntimeVersion}';

    const { stdout } = await site.kubectl(['get', 'node', node.name, `-ojsonpath=${version}`]);

    expect(stdout).toBe('containerd://2.4.2');
  });

  it('runs a command in a pod with its stdin, stdout, stderr and exit code', async () => {
    const { namespace } = await someone('nd-exec', { pullSecret: false });
    const pod = sleepingPod(await node.image('site'), namespace);
    await createAndWait(cluster, pod);

    const result = await execInPod(
      site,
      pod,
      ['sh', '-c', 'cat; echo aside >&2; exit 42'],
      'from here',
    );

    expect(result).toMatchObject({ exitCode: 42, stdout: 'from here' });
    expect(result.stderr).toContain('aside');
  });

  it('keeps a pod while its kubelet is away, and reaches it again afterwards', async () => {
    const { namespace } = await someone('nd-kubelet', { pullSecret: false });
    const pod = sleepingPod(await node.image('busybox'), namespace);
    await createAndWait(cluster, pod);
    const mark = randomUUID();
    await execInPod(site, pod, ['sh', '-c', `echo ${mark} >/tmp/mark`]);

    await node.stop('kubelet');
    const away = await execInPod(site, pod, ['true']);
    await node.start('kubelet');

    expect(away.exitCode).toBe(1);
    expect(away.stderr).toContain(`${node.address}:10250: connect: connection refused`);
    // It is Ready a moment before it knows of its pods.
    const again = await waitFor({ what: 'the pod to answer', timeoutMs: 60_000 }, async () => {
      const result = await execInPod(site, pod, ['cat', '/tmp/mark']);
      return result.exitCode === 0 ? result.stdout : undefined;
    });
    expect(again).toBe(mark);
  });

  it('keeps a pod while the API server is away', async () => {
    const { namespace } = await someone('nd-outage', { pullSecret: false });
    const pod = sleepingPod(await node.image('busybox'), namespace);
    await createAndWait(cluster, pod);
    const mark = randomUUID();
    await execInPod(site, pod, ['sh', '-c', `echo ${mark} >/tmp/mark`]);

    const away = await withoutApiServer(site, () => execInPod(site, pod, ['true']));

    expect(away.stderr).toContain('refused');
    expect(await execInPod(site, pod, ['cat', '/tmp/mark'])).toMatchObject({
      exitCode: 0,
      stdout: mark,
    });
  });
});

describe('an image of a registry with a password', () => {
  it('comes by the pull secret that the hook made', async () => {
    const image = await node.push('busybox');
    const { namespace } = await someone('nd-secret', { pullSecret: true });

    await createAndWait(cluster, sleepingPod(image, namespace, {}, { imagePullPolicy: 'Always' }));
  });

  it('does not come without it', async () => {
    const image = await node.push('busybox');
    const { namespace } = await someone('nd-nosecret', { pullSecret: false });
    const pod = sleepingPod(image, namespace, {}, { imagePullPolicy: 'Always' });
    await cluster.create(pod);

    const waiting = await waitFor({ what: 'the pull to fail', timeoutMs: 60_000 }, async () => {
      const live = await cluster.get('pod', pod.metadata.name, namespace);
      const { containerStatuses } = live?.status as {
        containerStatuses?: { state: { waiting?: { reason: string; message?: string } } }[];
      };
      const state = containerStatuses?.[0]?.state.waiting;
      return state?.reason === 'ErrImagePull' ? state : undefined;
    });

    expect(waiting.message).toMatch(/no basic auth credentials|401 Unauthorized/);
  });
});

describe('a home', () => {
  it("is the machine's own in a pod, and what the pod writes is the user's", async () => {
    const { namespace, uid, gid, home } = await someone('nd-home', { pullSecret: false });
    await writeFile(join(home, 'from-host'), 'host', { mode: 0o644 });
    const pod = sleepingPod(
      await node.image('busybox'),
      namespace,
      {
        securityContext: { runAsUser: uid, runAsGroup: gid, runAsNonRoot: true },
        volumes: [{ name: 'home', hostPath: { path: home, type: 'Directory' } }],
      },
      { volumeMounts: [{ name: 'home', mountPath: home }] },
    );
    await createAndWait(cluster, pod);

    const { stdout } = await execInPod(site, pod, [
      ...['sh', '-c', `cat ${home}/from-host; echo pod >${home}/from-pod`],
    ]);

    expect(stdout).toBe('host');
    expect(await readFile(join(home, 'from-pod'), 'utf8')).toBe('pod\n');
    expect(await stat(join(home, 'from-pod'))).toMatchObject({ uid, gid });
  });
});
