import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { runDoctor } from '../../../src/diagnose/doctor/run-checks.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { hookKubeconfig, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let portal: Portal;
let directory: string;

const login = { namespace: 'ondemand', name: 'berth-login' };

/** The files of a login node whose sessions are pods, and root's credentials as those of its account. */
beforeAll(async () => {
  site = await openSite();
  const cluster = new LiveCluster(site);
  await cluster.kubectl(['apply', '-k', 'etc/kubernetes']);
  await cluster.kubectl(['apply', '-k', 'etc/kubernetes/ssh-sessions']);
  portal = await Portal.make(site, {
    clusters: { prod: { auth: { type: 'managed' } } },
    kubeconfig: await hookKubeconfig(site, site.server, login),
    berth: { defaults: { ssh_sessions: {} } },
    hookEnv: { IMAGE_PULL_SECRET: '', REGISTRY_DOCKER_CONFIG_JSON: '' },
  });
  await mkdir(publicDirectory, { recursive: true });
  directory = await mkdtemp(join(publicDirectory, 'pod-doctor-'));
  await mkdir(join(directory, 'profiles'));
});
afterAll(async () => {
  await portal.remove();
  await rm(directory, { recursive: true });
});

async function checks(profile: object): Promise<CheckResult[]> {
  const image = 'registry.example.org/login:1';
  await writeFile(join(directory, 'profiles/cloud.yml'), stringify({ image, ...profile }));
  await writeFile(
    join(directory, 'ssh.yml'),
    stringify({ profiles_dir: join(directory, 'profiles'), rules: [{ profile: 'cloud' }] }),
  );
  return runDoctor({
    files: { configFile: portal.files.berth },
    sshConfigFile: join(directory, 'ssh.yml'),
    now: Date.now() / 1000,
    timeoutMs: 20_000,
  });
}

/** What of it is about pods, as `status message`, or its next step. */
async function sayings(
  profile: object,
  ids: readonly string[] = ['ssh-profile', 'ssh-pods', 'ssh-sessions', 'rights', 'cluster-roles'],
): Promise<Readonly<Record<string, string>>> {
  const results = (await checks(profile)).filter(({ id }) => ids.includes(id));
  return Object.fromEntries(
    results.map(({ id, status, message, next }) => [id, `${status}: ${next ?? message}`]),
  );
}

describe('berth doctor on a login node whose sessions are pods', () => {
  it('finds that the account can do what it must and no more, and asks for no Podman', async () => {
    const all = await checks({ backend: 'pod' });

    const ids = all.map(({ id }) => id);
    expect(ids).toContain('pam-session');
    expect(ids.filter((id) => /podman|subid|storage|image|cgroup/.test(id))).toEqual([]);
    const about = (id: string) => all.find((one) => one.id === id);
    expect(about('ssh-pods')?.message).toBe('profile cloud: its sessions are pods on prod');
    expect(about('ssh-sessions')).toMatchObject({ status: 'ok' });
    expect(about('rights')).toMatchObject({ status: 'ok' });
    expect(about('excess-rights')).toMatchObject({ status: 'ok' });
    expect(about('guard')).toMatchObject({ status: 'ok' });
  });

  it('names what a profile says in vain, and a cluster that is none', async () => {
    const vain = { backend: 'pod', slurm: {}, pod: { cluster: 'test' } };

    const said = await sayings(vain);

    expect(said['ssh-profile']).toMatch(/^warning: Remove them/);
    expect(said['ssh-pods']).toMatch(
      /^failed: Write `ssh_sessions: \{\}` .* `pod\.cluster` in the profile/,
    );
  });

  it('tells how the account of the portal’s hook becomes one of a login node', async () => {
    await writeFile(portal.files.kubeconfig, await hookKubeconfig(site), { mode: 0o600 });
    try {
      const said = await sayings({ backend: 'pod' });

      expect(said.rights).toMatch(/kubectl apply -k \S+\/share\/etc\/kubernetes\/ssh-sessions`/);
      expect(said['ssh-sessions']).toMatch(
        /^failed: Run `kubectl apply -k \S+ssh-sessions`, then /,
      );
    } finally {
      const own = await hookKubeconfig(site, site.server, login);
      await writeFile(portal.files.kubeconfig, own, { mode: 0o600 });
    }
  });

  it('tells where the Secret of a node has to be named', async () => {
    await portal.writeBerth({ defaults: { ssh_sessions: { secret: 'berth-session-login2' } } });
    try {
      const said = await sayings({ backend: 'pod' });

      expect(said['ssh-sessions']).toMatch(/^failed: Name the Secret berth-session-login2 in/);
      expect(said.rights).toMatch(/^ok/);
    } finally {
      await portal.writeBerth();
    }
  });
});
