import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, assert, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { hookKubeconfig, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { findCheck, problems, runDoctor } from '../../rig/site/doctor-report.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  await ensureAccount('alice');
  portal = await Portal.make(site);
});
afterAll(() => portal.remove());

describe('berth doctor on a correct site', () => {
  it('reports no failure, changes nothing in the cluster, and exits 0', async ({ skip }) => {
    const mark = site.skipReason('audit') === undefined ? await site.audit.mark() : undefined;
    const report = await runDoctor(portal, '--user', 'alice');
    expect(problems(report)).toEqual([]);
    expect(findCheck(report, 'admission')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining(
        'Without policies, users can run pods with any UID',
      ) as string,
    });
    expect(report.exitCode).toBe(0);
    // The half that needs the audit log.
    skip(mark === undefined, site.skipReason('audit'));
    assert(mark !== undefined);
    const events = await site.audit.since(mark, {
      user: 'system:serviceaccount:ondemand:berth-hook',
    });
    const changes = events
      .filter(({ verb }) => !['get', 'list'].includes(verb))
      .map(({ verb, requestURI }) => `${verb} ${requestURI}`)
      .filter((line) => !/selfsubject(access)?reviews|dryRun=All/.test(line));
    expect(events.length).toBeGreaterThan(10);
    expect(changes).toEqual([]);
  });

  it('prints text by cluster, without colours in a pipe', async () => {
    const { stdout, exitCode } = await portal.berth('doctor');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^this host\n {2}✓ node/);
    expect(stdout).toMatch(/\ncluster prod\n/);
    expect(stdout).toMatch(/\n\d+ ok, \d+ warnings?, 0 failed, \d+ skipped\n?$/);
    expect(stdout).not.toContain('\u001b');
  });
});

describe('berth doctor with one fault at a time', () => {
  afterEach(async () => {
    await writeFile(portal.files.kubeconfig, await hookKubeconfig(site), { mode: 0o600 });
    await chmod(portal.files.kubeconfig, 0o600);
    await portal.writeHookEnv();
    await portal.writeBerth();
    await portal.writeCluster('prod');
  });

  const kubeconfig = async (
    change: (file: { clusters: Entry[]; users: Entry[] }) => unknown,
  ): Promise<void> => {
    const file = parse(await readFile(portal.files.kubeconfig, 'utf8')) as {
      clusters: Entry[];
      users: Entry[];
    };
    change(file);
    await writeFile(portal.files.kubeconfig, stringify(file), { mode: 0o600 });
  };
  type Entry = { name: string } & Record<string, unknown>;

  it('fails for a world-readable admin kubeconfig', async () => {
    await chmod(portal.files.kubeconfig, 0o644);
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['admin-kubeconfig-mode failed']);
    expect(findCheck(report, 'admin-kubeconfig-mode').next).toBe(
      `chmod 600 ${portal.files.kubeconfig}`,
    );
    expect(report.exitCode).toBe(1);
  });

  it('fails for world-readable registry credentials', async () => {
    await chmod(portal.files.dockerConfig, 0o644);
    const report = await runDoctor(portal);
    await chmod(portal.files.dockerConfig, 0o600);
    expect(problems(report)).toEqual(['docker-config-mode failed']);
  });

  it('fails without the admin kubeconfig, and skips the checks that need it', async () => {
    await rm(portal.files.kubeconfig);
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['admin-kubeconfig-mode failed', 'admin-credentials failed']);
    expect(findCheck(report, 'rights').status).toBe('skipped');
    expect(findCheck(report, 'issuer').status).toBe('ok');
  });

  it('fails for a wrong CA of the API server', async () => {
    const other = await execa('openssl', [
      ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other'.split(
        ' ',
      ),
      ...['-keyout', '/dev/null'],
    ]);
    const data = Buffer.from(other.stdout).toString('base64');
    await kubeconfig(({ clusters: [one] }) => {
      const server = { server: site.server, 'certificate-authority-data': data };
      if (one !== undefined) one.cluster = server;
    });
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['api failed']);
    expect(findCheck(report, 'api').message).toContain('certificate is not accepted');
  });

  it('fails for an expired token of the hook', async () => {
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const sub = 'system:serviceaccount:ondemand:berth-hook';
    const token = `${part({ alg: 'RS256' })}.${part({ sub, exp: 1_700_000_000 })}.c2ln`;
    await kubeconfig((file) => (file.users = [{ name: 'berth-hook', user: { token } }]));
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['admin-token failed', 'api failed']);
    expect(findCheck(report, 'admin-token').next).toContain('berth token setup --cluster prod');
    expect(findCheck(report, 'admin-token').next).toContain('berth-token-rotate.timer');
  });

  it('fails without the right to a pull secret of another name', async () => {
    await portal.writeHookEnv({ IMAGE_PULL_SECRET: 'regcred' });
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual(['rights failed']);
    const { message, next } = findCheck(report, 'rights');
    expect(message).toMatch(
      /^3 of \d+ rights are missing: get secrets regcred in \S+; patch secrets regcred in \S+; create secrets regcred in/,
    );
    expect(next).toMatch(
      /berth token setup .* also grants the right to write the pull secret regcred\./,
    );
  });

  it('fails without any rights', async () => {
    await site.kubectl('-n ondemand create serviceaccount powerless'.split(' '));
    const { stdout } = await site.kubectl('-n ondemand create token powerless'.split(' '));
    await kubeconfig(
      (file) => (file.users = [{ name: 'berth-hook', user: { token: stdout.trim() } }]),
    );
    const report = await runDoctor(portal);
    await site.kubectl('-n ondemand delete serviceaccount powerless'.split(' '));
    expect(problems(report)).toEqual(['rights failed']);
    expect(findCheck(report, 'rights').next).toMatch(
      /kubectl apply -k \S+\/share\/etc\/kubernetes/,
    );
  });

  it("warns about an admin's certificate with all rights", async () => {
    const { cert, key } = await site.certificates.client('someone', ['system:masters']);
    const user = { 'client-certificate': cert, 'client-key': key };
    await kubeconfig((file) => (file.users = [{ name: 'berth-hook', user }]));
    const report = await runDoctor(portal);
    expect(problems(report)).toEqual([
      'admin-token warning',
      'excess-rights warning',
      // It may look, and OSC's reaper is not installed here.
      'cluster-roles failed',
      'guard failed',
    ]);
    expect(findCheck(report, 'cluster-roles').message).toContain('job-pod-reaper');
  });

  it("warns if the role of OSC's hooks is still bound", async () => {
    await site.kubectl([
      ...'create clusterrole ondemand --verb=get,list --resource=secrets,pods'.split(' '),
    ]);
    await site.kubectl(
      'create clusterrolebinding ondemand --clusterrole=ondemand --serviceaccount=ondemand:berth-hook'.split(
        ' ',
      ),
    );
    // The API server's own authorizer learns of a binding a moment after it was made.
    const report = await waitFor({ what: 'the binding to count', timeoutMs: 60_000 }, async () => {
      const seen = await runDoctor(portal);
      return problems(seen).length > 0 ? seen : undefined;
    });
    await site.kubectl('delete clusterrole/ondemand clusterrolebinding/ondemand'.split(' '));
    expect(problems(report)).toEqual(['excess-rights warning']);
    expect(report.exitCode).toBe(0);
    const { message, next } = findCheck(report, 'excess-rights');
    expect(message).toContain('list secrets');
    expect(next).toContain('kubectl delete clusterrolebinding ondemand');
  });

  it('fails without the guard', async () => {
    const guard = 'validatingadmissionpolicybinding/berth-hook-guard';
    const { stdout } = await site.kubectl(['get', guard, '-o', 'yaml']);
    await site.kubectl(['delete', guard]);
    try {
      const report = await waitFor(
        { what: 'the guard to be gone', timeoutMs: 60_000 },
        async () => {
          const seen = await runDoctor(portal);
          if (findCheck(seen, 'guard').status === 'ok') throw new Error('still there');
          return seen;
        },
      );
      expect(problems(report)).toEqual(['guard failed']);
      expect(findCheck(report, 'guard').next).toMatch(
        /^kubectl apply -k \S+\/share\/etc\/kubernetes\/guard$/,
      );
    } finally {
      await site.kubectl(['create', '-f', '-'], {
        input: stdout.replace(/^ {2}resourceVersion:.*\n|^ {2}uid:.*\n/gm, ''),
      });
      await waitFor({ what: 'the guard to be back', timeoutMs: 60_000 }, async () => {
        if (findCheck(await runDoctor(portal), 'guard').status !== 'ok') throw new Error('not yet');
        return true;
      });
    }
  });

  it('fails for a dead API server, and checks the other cluster in time', async () => {
    const silent: Server = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const endpoint = `https://127.0.0.1:${port}`;
    await portal.writeCluster('silent', { server: { endpoint } });
    await kubeconfig((file) => {
      file.clusters.push({ name: 's', cluster: { server: endpoint } });
      (file as unknown as { contexts: Entry[] }).contexts.push({
        name: 's',
        context: { cluster: 's', user: 'berth-hook' },
      });
    });
    const started = performance.now();
    const report = await runDoctor(portal, '--timeout', '2s');
    const took = performance.now() - started;
    silent.close();
    await rm(join(portal.files.clustersDir, 'silent.yml'));
    expect(problems(report, 'prod')).toEqual([]);
    expect(problems(report, 'silent')).toEqual([
      'api failed',
      'api-certificate failed',
      'api-clock failed',
    ]);
    expect(took).toBeLessThan(6_000);
  });

  it('fails for a broken file of clusters.d, and checks the other cluster', async () => {
    const file = join(portal.files.clustersDir, 'broken.yml');
    await writeFile(file, 'v2: {job: {adapter: kubernetes, auth: {type: oidcc}}}\n');
    const report = await runDoctor(portal);
    await rm(file);
    expect(problems(report)).toEqual(['cluster-config failed']);
    expect(findCheck(report, 'cluster-config')).toMatchObject({ cluster: 'broken' });
  });

  it('fails without a readable configuration', async () => {
    await rm(portal.files.hookEnv);
    const report = await runDoctor(portal, '--user', 'alice');
    expect(problems(report)).toEqual(['config failed']);
    expect(findCheck(report, 'user').status).toBe('ok');
    expect(findCheck(report, 'node').status).toBe('ok');
    expect(report.exitCode).toBe(1);
  });
});
