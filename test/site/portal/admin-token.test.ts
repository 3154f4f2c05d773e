import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeJwt, decodeProtectedHeader, importPKCS8, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LogLine, logLines } from '../../rig/log-lines.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let newcomers: TestUsers;
let portal: Portal;
let tom: TestUser;
let fresh: string;

const hour = 3600;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  tom = await newcomers.create('md-tom');
  fresh = await readFile(portal.files.kubeconfig, 'utf8');
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** A login whose hook has its own token, made this long ago for 24 hours. */
async function loginWithTokenOf(
  ageSeconds: number,
): Promise<{ exitCode: number; warnings: readonly LogLine[]; stderr: string }> {
  const token = /token: (\S+)/.exec(fresh)?.[1] ?? '';
  const iat = Math.floor(Date.now() / 1000) - ageSeconds;
  // The API server makes none that ends at once: its own key signs one that began long ago.
  const key = await readFile(join(dirname(site.adminKubeconfig), 'sa.key'), 'utf8');
  const { alg = '', ...header } = decodeProtectedHeader(token);
  const older = await new SignJWT({ ...decodeJwt(token), iat, nbf: iat, exp: iat + 24 * hour })
    .setProtectedHeader({ ...header, alg })
    .sign(await importPKCS8(key, alg));
  await writeFile(portal.files.kubeconfig, fresh.replace(token, older));
  const { exitCode, stderr } = await portal.prePun(tom.name);
  return {
    exitCode,
    stderr,
    warnings: logLines(stderr).filter(({ code }) => code?.includes('token')),
  };
}

describe("each login, by the hook's own token, which the log", () => {
  it('does not mention while it is valid', async ({ skip }) => {
    const reason = site.skipReason('audit');
    skip(reason !== undefined, reason);
    expect(await loginWithTokenOf(8 * hour)).toMatchObject({ exitCode: 0, warnings: [] });
  });

  it('names with its expiry and the next step, when less than a third of its lifetime is left', async ({
    skip,
  }) => {
    const reason = site.skipReason('audit');
    skip(reason !== undefined, reason);

    const { exitCode, warnings } = await loginWithTokenOf(17 * hour);

    expect(exitCode).toBe(0);
    expect(warnings).toMatchObject([
      { level: 'warning', code: 'hook-token-ends-soon', cluster: 'prod', user: 'md-tom' },
    ]);
    expect(warnings[0]?.hint).toContain('berth token rotate --cluster prod');
    expect(warnings[0]?.msg).toContain(portal.files.kubeconfig);
  });

  it('names as the cause, when it has expired', async ({ skip }) => {
    const reason = site.skipReason('audit');
    skip(reason !== undefined, reason);

    const { exitCode, warnings, stderr } = await loginWithTokenOf(25 * hour);

    expect(exitCode).toBe(78);
    expect(stderr).toContain('code=api-unauthorized');
    expect(warnings).toMatchObject([{ level: 'warning', code: 'hook-token-expired' }]);
    expect(warnings[0]?.hint).toContain('berth token setup --cluster prod');
    expect(stderr).not.toContain('eyJ');
  });
});
