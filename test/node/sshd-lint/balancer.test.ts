import { afterAll, beforeAll, expect, it } from 'vitest';
import { LintHost } from './lint-host.ts';

let host: LintHost;

beforeAll(async () => {
  host = await LintHost.make([{ name: 'ann', shell: 'LOGIN', groups: ['berth'] }]);
});
afterAll(() => host.remove());

it('the real sshd behind a balancer: what it decides by address is found', async () => {
  const example = await host.example('login-shell');
  const own = (codes: readonly string[]) => codes.filter((code) => code.startsWith('balancer-'));
  expect(own((await host.lint(example)).codes)).toEqual([]);

  const profiles = `profiles_dir: ${host.path('profiles')}\n`;
  await host.write('ssh.yml', `${profiles}balancers: [192.0.2.10]\n`);
  const mistakes = [
    'PerSourceMaxStartups 5',
    'PerSourceNetBlockSize 24:64',
    'UseDNS yes',
    `${example}\nMatch Address 192.0.2.0/24`,
    '  ClientAliveInterval 60',
  ];
  const { codes, report } = await host.lint(mistakes.join('\n'));
  expect(own(codes)).toEqual([
    'balancer-address',
    'balancer-max-startups',
    'balancer-net-block',
    'balancer-source-startups',
    'balancer-use-dns',
  ]);
  const places = report?.host.map(({ code, place }) => `${code} ${place?.split(':').at(-1) ?? ''}`);
  expect(places).toEqual(expect.arrayContaining(['balancer-use-dns 3']));

  const mended = await host.lint(`MaxStartups 500:30:1000\n${example}`);
  expect(own(mended.codes)).toEqual([]);

  await host.write('ssh.yml', `${profiles}balancers: [lb1.example.org]\n`);
  expect((await host.lint(example)).codes).toContain('settings-invalid');
});
