import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { logLines } from '../../../rig/log-lines.ts';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../../rig/site/test-users.ts';
import { ensureCommand } from '../../../rig/site/debian-packages.ts';
import { installDirectory, Portal } from '../../../rig/site/portal.ts';
import type { Tokens } from '../../../rig/site/keycloak/realm.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { type Kubeconfig, modeAndOwner, UserKubectl } from '../../../rig/site/user-kubectl.ts';

let site: Site;
let newcomers: TestUsers;
let portal: Portal;
let leo: TestUser;
let kubectl: UserKubectl;
let tokens: Tokens;
let stderr: string;
let trace: string;

beforeAll(async () => {
  site = await openSite();
  await ensureCommand('strace', 'strace');
  newcomers = new TestUsers(new LiveCluster(site));
  const { id, secret = '' } = site.keycloak.client('kubernetes');
  portal = await Portal.make(site, {
    hookEnv: { CLIENT_ID: id, CLIENT_SECRET: secret, K8S_USERNAME_PREFIX: 'kc-' },
    clusters: { prod: { username_prefix: 'kc-' } },
    berth: legacy({}),
  });
  leo = await newcomers.create('md-leo');
  await site.keycloak.addUser(leo.name);
  kubectl = new UserKubectl(site, leo);
  tokens = await site.keycloak.login(leo.name, { client: 'kubernetes' });
  trace = join(portal.directory, 'hook.strace');
  const options = ['-f', '-e', 'trace=execve', '-s', '1000000', '-o', trace];
  const hook = [join(installDirectory, 'hooks/pre-pun'), '--user', leo.name];
  const login = await execa('strace', [...options, ...hook, '--config', portal.files.berth], {
    extendEnv: false,
    env: portal.environment(tokens),
    cwd: '/',
    input: '',
  });
  stderr = login.stderr;
});

const legacy = (more: object): Record<string, unknown> => ({
  clusters: { prod: { credentials: { mode: 'legacy', ca_file: site.ca.file, ...more } } },
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

describe('the legacy mode', () => {
  it("writes the user entry that OSC's script has kubectl write", async () => {
    const { secret = '' } = site.keycloak.client('kubernetes');
    const theirs = await byKubectl('kubernetes', secret, tokens, tokens.idToken);
    expect((await kubectl.kubeconfig()).users).toEqual(theirs);
  });

  it('warns in each hook', () => {
    expect(logLines(stderr)).toContainEqual(
      expect.objectContaining({ level: 'warning', code: 'credentials-legacy', cluster: 'prod' }),
    );
  });

  it('makes the file readable by its user only, and puts no secret on a command line', async () => {
    expect(await modeAndOwner(kubectl.kubeconfigFile)).toBe(`0600 ${leo.uid}`);
    const programs = await readFile(trace, 'utf8');
    expect(programs).toContain('hooks/pre-pun');
    const { secret = '' } = site.keycloak.client('kubernetes');
    for (const text of [secret, ...[tokens.idToken, tokens.refreshToken].map(String)]) {
      expect(programs).not.toContain(text);
      expect(stderr).not.toContain(text);
    }
  });

  it('lets kubectl work, renew the token and write the file itself', async () => {
    expect(await kubectl.whoami()).toBe('oidc:md-leo');
    const before = await readFile(kubectl.kubeconfigFile, 'utf8');
    await writeFile(kubectl.kubeconfigFile, before.replaceAll(String(tokens.idToken), ended()));

    expect(await kubectl.whoami()).toBe('oidc:md-leo');

    const after = await readFile(kubectl.kubeconfigFile, 'utf8');
    expect(after).not.toContain(String(tokens.refreshToken));
  });

  it('writes the access token instead, as that script does, if the site configures it', async () => {
    await portal.writeHookEnv({ CLIENT_ID: 'kubernetes-public', K8S_USERNAME_PREFIX: 'kc-' });
    await portal.writeBerth(legacy({ audience: 'kubernetes', exchange: false, token: 'access' }));
    const open = await site.keycloak.login(leo.name, { client: 'kubernetes-public' });

    expect((await portal.prePun(leo.name, open)).exitCode).toBe(0);

    const theirs = await byKubectl('kubernetes-public', '', open, open.accessToken);
    expect((await kubectl.kubeconfig()).users).toEqual(theirs);
    expect(await kubectl.whoami()).toBe('oidc:md-leo');
  });
});

/**
 * The entry that kubectl writes with the arguments in `set-k8s-creds.sh`, and with the CA of the test's
 * issuer.
 */
async function byKubectl(
  client: string,
  secret: string,
  { refreshToken = '' }: Tokens,
  idToken = '',
): Promise<Kubeconfig['users']> {
  const fields = {
    'idp-issuer-url': site.keycloak.issuer,
    'client-id': client,
    'client-secret': secret,
    'refresh-token': refreshToken,
    'id-token': idToken,
    'idp-certificate-authority': site.ca.file,
  };
  const file = join(leo.home, `by-kubectl-${client}`);
  const { exitCode, stderr: said } = await kubectl.run(
    ...['--kubeconfig', file, 'config', 'set-credentials', 'kc-md-leo', '--auth-provider=oidc'],
    ...Object.entries(fields).map(([key, value]) => `--auth-provider-arg=${key}=${value}`),
  );
  expect(exitCode, said).toBe(0);
  return (parse(await readFile(file, 'utf8')) as Kubeconfig).users;
}

/** A token that kubectl takes for expired. */
function ended(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp: 1000 })}.`;
}
