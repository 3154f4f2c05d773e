import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureAccount } from '../../rig/site/accounts.ts';
import type { HookResult } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';
import { codeBlocks, pages, pageText, tableRows } from '../../rig/markdown.ts';
import { PortalHost } from './portal-host.ts';

interface Way {
  readonly command: RegExp;
  /** Runs the command, or proves in another way that it does what the page says. */
  readonly prove: (command: string) => Promise<unknown>;
}

const portalPage = 'docs/getting-started-portal.md';
let host: PortalHost;
const packageJson = new URL('../../../package.json', import.meta.url);

/** How each command of the documentation is tested; one that is not here fails. */
const ways: readonly Way[] = [
  // The modules that this test runs on came by it. What can go wrong is a lock file that does not fit.
  // test/node/docs/readme.test.ts types them on a login node.
  {
    command:
      /^(?:apt-get|ln|printf|cp -pn|sed -i|grep -q|groupadd|usermod|systemctl daemon-reload|berth (?:images|subid|lint|doctor|plan))(?: |$)/,
    prove: isOfLoginNode,
  },
  {
    command: /^install -D -m 0644 (?:-t \/etc\/\S+ )?etc\/(?:security|sshd|berth)\/\S+/,
    prove: isOfLoginNode,
  },
  // test/site/portal/cluster-api.test.ts runs them as one script.
  { command: /^umask 077$|\bresearch(?:-kubeconfig|\.kubeconfig)?\b/, prove: isOfFleet },
  { command: /^npm ci$/, prove: () => ends(0, 'npm ci --dry-run') },
  // A test does not run all tests, nor the demo, which fails where a step of it does; .ci/checks does.
  {
    command: /^npm ci && npm (?:test|run demo)$|^npm (?:test|run lint|run test:unit)$/,
    prove: isRunInCi,
  },
  { command: /^npm run site:up$/, prove: (command) => ends(0, command) },
  // They would end the site under the other tests, or take longer than all of them.
  { command: /^npm run (?:site:down|test:soak)$/, prove: isScript },
  { command: /^npm run install:site -- --prefix \S+$/, prove: installs },
  { command: /^install -D -m 0644 -t \/etc\/\S+ etc\/\S+$/, prove: (command) => ends(0, command) },
  { command: /^kubectl apply -k etc\/kubernetes$/, prove: (command) => ends(0, command) },
  { command: /^\S+\/berth token setup /, prove: (command) => ends(0, command) },
  { command: /^\S+\/berth doctor/, prove: (command) => ends(0, command) },
  { command: /^\S+\/berth plan --user alice$/, prove: plan },
  { command: /^systemctl enable --now /, prove: unitsAreInstalled },
];

beforeAll(async () => {
  const site = await openSite();
  await ensureAccount('alice');
  host = await PortalHost.make(site);
});
afterAll(() => host.remove());

const withCommands = pages.filter((page) => commandsOf(page).length > 0);

describe.each(withCommands)('the commands in %s', (page) => {
  it.each(commandsOf(page))('%s', { timeout: 300_000 }, async (command) => {
    const way = ways.find((one) => one.command.test(command));
    if (way === undefined) throw new Error(`no test knows how to run it: ${command}`);
    await way.prove(command);
  });
});

describe('the lines for ood_portal.yml', () => {
  /** What `berth doctor` says of the portal with these lines, by the check's id. */
  const judged = async (lines: string): Promise<Record<string, string>> => {
    const file = host.path('/etc/ood/config/ood_portal.yml');
    const site = 'oidc_uri: /oidc\noidc_client_id: ondemand\nrnode_uri: /rnode\n';
    const hook = host.path('/usr/lib/berth/hooks/pre-pun');
    await writeFile(file, site + lines.replace(/^(pun_pre_hook_root_cmd:).*/m, `$1 ${hook}`));
    const { stdout } = await host.run('/usr/lib/berth/berth doctor -o json || true');
    await rm(file);
    const { checks } = JSON.parse(stdout) as { checks: { id: string; status: string }[] };
    return Object.fromEntries(
      checks
        .filter(({ id }) => id.startsWith('portal-') && id !== 'portal-sandbox')
        .map(({ id, status }) => [id, status]),
    );
  };

  it('are what doctor wants, and without the last two it fails', async () => {
    const [block] = codeBlocks(portalPage).filter(({ text }) => text.includes('ood_portal.yml'));
    const text = block?.text ?? '';
    expect(await judged(text)).toEqual({
      'portal-hook': 'ok',
      'portal-tokens': 'ok',
      'portal-session-cookie': 'ok',
      'portal-exports': 'ok',
      'portal-refresh': 'ok',
    });
    expect(
      await judged(text.replace(/.*(OIDCPassClaimsAs|OIDCStripCookies).*/g, '')),
    ).toMatchObject({
      'portal-tokens': 'failed',
      'portal-session-cookie': 'failed',
    });
  });

  it('name a hook that is installed, and does its work with what they hand over', async () => {
    const [block] = codeBlocks(portalPage).filter(({ text }) => text.includes('ood_portal.yml'));
    const portalYml = parse(block?.text ?? '') as Record<string, string>;
    const tokens = await host.portal.login('alice');
    const given = host.portal.environment(tokens);
    const exported = (portalYml.pun_pre_hook_exports ?? '').split(',').map((name) => `OOD_${name}`);

    expect(exported.sort()).toEqual(
      Object.keys(given)
        .filter((name) => name.startsWith('OOD_OIDC_'))
        .sort(),
    );
    await ends(0, `${portalYml.pun_pre_hook_root_cmd ?? ''} --user alice`, given);
  });
});

describe("the programs in the place of OSC's scripts", () => {
  it.each(tableRows(portalPage, "OSC's"))('%s: %s', async (_script, program = '') => {
    const tokens = host.portal.environment(await host.portal.login('alice'));

    await ends(0, `${program} alice /etc/ood/config/hook.env`, tokens);
    // As OSC's example of a pre-hook calls its scripts.
    await ends(0, `/bin/bash ${program} alice /etc/ood/config/hook.env`, tokens);
  });
});

function commandsOf(page: string): string[] {
  return codeBlocks(page)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => line !== '');
}

async function ends(
  exitCode: number,
  command: string,
  env: Readonly<Record<string, string>> = {},
): Promise<HookResult> {
  const result = await host.run(command, env);
  expect(result, `${command}\n${result.stdout}\n${result.stderr}`).toMatchObject({ exitCode });
  return result;
}

async function installs(command: string): Promise<void> {
  await ends(0, command);
  await access(host.path('/usr/share/berth/schema/berth.yml.json'));
}

async function plan(command: string): Promise<void> {
  const { exitCode, stdout } = await host.run(command);
  expect([0, 1]).toContain(exitCode);
  expect(stdout).toContain('Namespace u-alice');
}

function isOfLoginNode(command: string): Promise<void> {
  expect(pageText('docs/getting-started-login-node.md')).toContain(command);
  return Promise.resolve();
}

function isOfFleet(command: string): Promise<void> {
  const [script] = codeBlocks('docs/configuration.md').filter(({ text }) => text.includes('umask'));
  expect(script?.text.split('\n')).toContain(command);
  return Promise.resolve();
}

async function isScript(command: string): Promise<void> {
  const { scripts } = JSON.parse(await readFile(packageJson, 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(Object.keys(scripts)).toContain(command.replace(/^npm (?:run )?/, ''));
}

async function isRunInCi(command: string): Promise<void> {
  const script = command.replace('npm ci && ', '');
  await isScript(script);
  const ci = await readFile(new URL('../../../.ci/checks', import.meta.url), 'utf8');
  // `npm test` is the unit tests, too.
  expect(ci.split('\n')).toContain(script === 'npm run test:unit' ? 'npm test' : script);
}

async function unitsAreInstalled(command: string): Promise<void> {
  const units = command.split(' ').slice(3);
  expect(units.length).toBeGreaterThan(0);
  // NAME@INSTANCE.service is made of the template NAME@.service.
  for (const unit of units)
    await access(host.path(`/etc/systemd/system/${unit.replace(/@[^.]*/, '@')}`));
}
