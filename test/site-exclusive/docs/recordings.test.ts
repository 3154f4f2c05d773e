import { readFile, writeFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Account, ensureAccount } from '../../rig/site/accounts.ts';
import { openSite } from '../../rig/site/site.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { PortalHost } from './portal-host.ts';

/** With BERTH_RECORD=1 the page is written, otherwise it is compared. */
const page = new URL('../../../docs/plan-and-doctor.md', import.meta.url);
const recording = process.env.BERTH_RECORD === '1';

let host: PortalHost;
let user: Account;

beforeAll(async () => {
  const site = await openSite();
  user = await ensureAccount('recorded');
  await site.keycloak.addUser(user.name);
  host = await PortalHost.make(site);
  const [block] = codeBlocks('docs/getting-started-portal.md').filter(({ text }) =>
    text.includes('ood_portal.yml'),
  );
  const hook = host.path('/usr/lib/berth/hooks/pre-pun');
  await writeFile(
    host.path('/etc/ood/config/ood_portal.yml'),
    (block?.text ?? '').replace(/^(pun_pre_hook_root_cmd:).*/m, `$1 ${hook}`),
  );
  const tokens = host.portal.environment(await host.portal.login(user.name));
  for (const [command, env] of [
    ['npm run install:site -- --prefix /usr/lib/berth', {}],
    ['install -D -m 0644 -t /etc/systemd/system etc/systemd/berth-*', {}],
    ['/usr/lib/berth/berth token setup --cluster prod --from /root/admin.kubeconfig', {}],
    [`/usr/lib/berth/hooks/pre-pun --user ${user.name}`, tokens],
  ] as const) {
    const { exitCode, stderr } = await host.run(command, env);
    expect(exitCode, `${command}\n${stderr}`).toBe(0);
  }
}, 300_000);
afterAll(() => host.remove());

it('docs/plan-and-doctor.md is what the programs print', async () => {
  const doctor = await printed('berth doctor', `doctor --user ${user.name}`);
  await allowNetwork('192.0.2.0/24');
  const plan = await printed('berth plan', `plan --user ${user.name}`);

  const blocks = [plan, doctor];
  const text = await readFile(page, 'utf8');
  const expected = text.replaceAll(/^```text\n[\s\S]*?^```$/gm, () => {
    return `\`\`\`text\n${blocks.shift() ?? ''}\n\`\`\``;
  });
  if (recording) await writeFile(page, expected);
  expect(await readFile(page, 'utf8')).toBe(expected);
});

async function allowNetwork(cidr: string): Promise<void> {
  const file = host.path('/etc/berth/berth.yml');
  const settings = parse(await readFile(file, 'utf8')) as { defaults: object };
  const defaults = { ...settings.defaults, allow_cidrs: ['127.0.0.1/32', cidr] };
  await writeFile(file, stringify({ ...settings, defaults }));
}

/** The output, with what is different on each run of the test site replaced by the values of an example. */
async function printed(name: string, args: string): Promise<string> {
  const { stdout, stderr } = await host.run(`/usr/lib/berth/berth ${args} || true`);
  expect(stderr, name).toBe('');
  const { site } = host;
  const example: readonly (readonly [string | RegExp, string])[] = [
    [host.directory, ''],
    [`${host.portal.directory}/state`, '/var/lib/berth'],
    [host.portal.directory, '/etc/ood/config'],
    [site.kubectlPath, '/usr/bin/kubectl'],
    [site.server, 'https://kube.example.com:6443'],
    [site.keycloak.issuer, 'https://idp.example.com/realms/main'],
    [user.home, '/home/alice'],
    [user.name, 'alice'],
    [new RegExp(`\\b(?:${user.uid}|${user.gid})\\b`, 'g'), '20001'],
    [/\b\d{10}\b/g, '1790000000'],
    [/\b\d{4}-\d\d-\d\d(T\d\d:\d\dZ)?/g, '2027-01-15$1'],
    [/T\d\d:\d\dZ/g, 'T08:00Z'],
    [/\b127\.0\.0\.1_\d+/g, 'kube.example.com_6443'],
    ['127.0.0.1/32', '10.0.0.0/8'],
    [site.ca.file, '/etc/pki/kube-ca.pem'],
  ];
  return example.reduce((text, [from, to]) => text.replaceAll(from, to), stdout).trim();
}
