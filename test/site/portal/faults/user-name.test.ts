import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { type FreshPortal, freshPortal, removePortals, timed } from './fresh-portal.ts';
import { pass } from './response-faults.ts';
import { StandIn } from './api-server-proxy.ts';

let site: Site;
let standIn: StandIn;
let portal: FreshPortal;

beforeAll(async () => {
  site = await openSite();
  standIn = await StandIn.open(site, pass);
  portal = await freshPortal(site, { url: standIn.url });
});
afterAll(async () => {
  await removePortals(site);
  await standIn.close();
});

describe('a name that is not a user account ends the hook before any request or write', () => {
  it.each([
    { what: 'unknown', name: 'nobody-of-this-name', exit: 67, code: 'user-unknown' },
    { what: 'root', name: 'root', exit: 77, code: 'uid-below-minimum' },
    { what: 'a system account', name: 'daemon', exit: 77, code: 'uid-below-minimum' },
    { what: 'a number, which is no name', name: '1000', exit: 67, code: 'user-unknown' },
    { what: 'with a slash', name: 'a/b', exit: 64, code: 'user-name-invalid' },
    { what: 'the directory above', name: '..', exit: 64, code: 'user-name-invalid' },
    { what: 'a path', name: '../../etc/passwd', exit: 64, code: 'user-name-invalid' },
    {
      what: 'with a newline',
      name: 'root\nlevel=info msg=forged',
      exit: 64,
      code: 'user-name-invalid',
    },
    { what: 'with an escape', name: 'a\u001b[2Jb', exit: 64, code: 'user-name-invalid' },
    { what: '300 characters', name: 'x'.repeat(300), exit: 64, code: 'user-name-invalid' },
    { what: 'unicode', name: 'jörg', exit: 64, code: 'user-name-invalid' },
    { what: 'unicode that looks like ASCII', name: 'аlice', exit: 64, code: 'user-name-invalid' },
    { what: 'with a blank', name: 'a b', exit: 64, code: 'user-name-invalid' },
    { what: 'a command', name: '$(id)', exit: 64, code: 'user-name-invalid' },
    { what: 'empty', name: '', exit: 64, code: 'user-name-invalid' },
    { what: 'an option', name: '--config=/etc/passwd', exit: 64, code: 'usage' },
  ])('$what: exit $exit, $code', async ({ name, exit, code }) => {
    const before = standIn.requests.length;
    const { exitCode, stdout, stderr, errors } = await timed(portal.prePun(name));

    expect(exitCode).toBe(exit);
    expect(errors).toEqual([
      expect.objectContaining({ code, hint: expect.stringMatching(/./) as string }),
    ]);
    expect(stderr).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(stdout).toBe('');
    expect(standIn.requests).toHaveLength(before);
  });

  it.each(['hooks/k8s-bootstrap', 'hooks/set-k8s-creds'])('%s reports the same', async (hook) => {
    const name = '../x';
    const { exitCode, errors } = await timed(portal.run(hook, [name, portal.files.hookEnv]));
    const unset = await timed(portal.run(hook, [name]));

    // There is no berth.yml at the default path either, and it is read before the name is checked.
    expect([64, 78]).toContain(exitCode);
    expect(errors).toHaveLength(1);
    expect(unset).toMatchObject({ exitCode: 64, errors: [{ code: 'usage' }] });
    expect(standIn.requests).toEqual([]);
  });

  it('a leading dash is not taken for an option by another program', async () => {
    const words = ['--user=-alice', '--config', portal.files.berth];
    const { exitCode, errors } = await timed(portal.run('hooks/pre-pun', words));

    expect(exitCode).toBe(64);
    expect(errors).toEqual([expect.objectContaining({ code: 'user-name-invalid' })]);
  });
});

describe('one error of each class, through the hook', () => {
  it('configuration: exit 78, the file and the line', async () => {
    const bad = await freshPortal(site, { url: standIn.url });
    await bad.writeHookEnv({ NAMESPACE_PREFIX: '$(id)' });
    const { exitCode, errors } = await timed(bad.prePun('daemon'));

    expect(exitCode).toBe(78);
    expect(errors).toEqual([
      expect.objectContaining({
        code: expect.stringMatching(/^hook-env-/) as string,
        file: bad.files.hookEnv,
        line: '2',
      }),
    ]);
  });
});
