import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { ensureAccount } from '../../rig/site/accounts.ts';
import type { HookResult } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';
import { codeBlocks, pages, pageText, tableRows } from '../../rig/markdown-pages.ts';
import { PortalHost } from './portal-host.ts';

interface CommandCheck {
  readonly command: RegExp;
  /** Runs the command, or checks in another way that it does what the page says. */
  readonly check: (command: string) => Promise<unknown>;
}

const portalPage = 'docs/getting-started-portal.md';
const migrationPage = 'docs/migrate-from-osc.md';
let host: PortalHost;
const packageJson = new URL('../../../package.json', import.meta.url);

/** How each command in a `sh` block of the documentation is tested. A command that matches none fails. */
const commandChecks: readonly CommandCheck[] = [
  { command: /^berth doctor --config-dir \.\/new$/, check: isInConfigDirTest },
  // test/node/docs/getting-started-login-node.test.ts runs these on a login node.
  {
    command:
      /^(?:apt-get|ln|printf|cp -pn?|rm -r|rm \/etc\/\S+|sed -i|grep -q|! getent|for name|getent|groupadd|usermod|mkdir -p -m 0755 \/run\/sshd|systemctl (?:daemon-reload|disable)|berth (?:images|subid|sshd lint|doctor|plan|reap))(?: |$)/,
    check: isOnLoginNodePage,
  },
  {
    command: /^install -D -m 0644 (?:-t \/etc\/\S+ )?etc\/(?:security|sshd|berth)\/\S+/,
    check: isOnLoginNodePage,
  },
  // test/node/slurm/render-sbatch.test.ts and test/node/notebooks/ondemand-job.test.ts run all commands of these pages.
  {
    command:
      /^(?:berth render (?:sbatch|ondemand-app)|sbatch|mkdir -p \/etc\/ood|cp \/usr\/lib\/berth\/share)\b/,
    check: isOnPageOfNotebooks,
  },
  // test/site/portal/cluster-api.test.ts runs these as one script.
  { command: /^umask 077$|\bresearch(?:-kubeconfig|\.kubeconfig)?\b/, check: isInClusterApiScript },
  // The test runs on what `npm ci` installed; the lock file may still be stale.
  { command: /^npm ci$/, check: () => ends(0, 'npm ci --dry-run') },
  // .ci/checks runs all tests, and the demo, which fails if one of its steps fails.
  {
    command: /^npm ci && npm (?:test|run demo)$|^npm (?:test|run check)$/,
    check: isRunInCi,
  },
  { command: /^npm run site:up$/, check: (command) => ends(0, command) },
  // These would stop the site that other tests use, or take longer than all of them.
  { command: /^npm run (?:site:down|test:all|test:soak)$/, check: isScript },
  { command: /^npm run install:site -- --prefix \S+$/, check: installs },
  { command: /^install -D -m 0644 -t \/etc\/\S+ etc\/\S+$/, check: (command) => ends(0, command) },
  {
    command: /^kubectl --kubeconfig \S+ apply -k etc\/kubernetes$/,
    check: (command) => ends(0, command),
  },
  { command: /^\S+\/berth token setup /, check: (command) => ends(0, command) },
  { command: /^\S+\/berth doctor/, check: (command) => ends(0, command) },
  { command: /^\S+\/berth plan --user alice$/, check: plan },
  { command: /^systemctl enable --now /, check: unitsAreInstalled },
  { command: /^rm -f \/var\/lib\/prometheus\S+ /, check: (command) => ends(0, command) },
];

beforeAll(async () => {
  const site = await openSite();
  await ensureAccount('alice');
  host = await PortalHost.make(site);
});
afterAll(() => host.remove());

/** migrate-from-osc.test.ts runs those of its page one after the other. */
const withCommands = pages.filter((page) => page !== migrationPage && commandsOf(page).length > 0);

describe.each(withCommands)('the commands in %s', (page) => {
  it.each(commandsOf(page))('%s', { timeout: 300_000 }, async (command) => {
    const found = commandChecks.find((one) => one.command.test(command));
    if (found === undefined) throw new Error(`no test runs this command: ${command}`);
    await found.check(command);
  });
});

describe('the lines for ood_portal.yml', () => {
  /** The results of doctor's checks of the portal with these lines, by the check's id. */
  const portalChecks = async (lines: string): Promise<Record<string, string>> => {
    const file = host.path('/etc/ood/config/ood_portal.yml');
    const site = 'oidc_uri: /oidc\noidc_client_id: ondemand\nrnode_uri: /rnode\n';
    const hook = host.path('/usr/lib/berth/hooks/pre-pun');
    await writeFile(file, site + lines.replace(/^(pun_pre_hook_root_cmd:).*/m, `$1 ${hook}`));
    const { stdout } = await host.run('/usr/lib/berth/berth doctor -o json || true');
    await rm(file);
    const { checks } = berthDocument(stdout) as { checks: { id: string; status: string }[] };
    return Object.fromEntries(
      checks
        .filter(({ id }) => id.startsWith('portal-') && id !== 'portal-sandbox')
        .map(({ id, status }) => [id, status]),
    );
  };

  it('pass the checks of doctor, which fail without the last two', async () => {
    const [block] = codeBlocks(portalPage).filter(({ text }) => text.includes('ood_portal.yml'));
    const text = block?.text ?? '';
    expect(await portalChecks(text)).toEqual({
      'portal-hook': 'ok',
      'portal-tokens': 'ok',
      'portal-session-cookie': 'ok',
      'portal-exports': 'ok',
      'portal-refresh': 'ok',
    });
    expect(
      await portalChecks(text.replace(/.*(OIDCPassClaimsAs|OIDCStripCookies).*/g, '')),
    ).toMatchObject({
      'portal-tokens': 'failed',
      'portal-session-cookie': 'failed',
    });
  });

  it('name an installed hook, which succeeds with the variables that they export', async () => {
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

describe("the programs that replace OSC's scripts", () => {
  it.each(tableRows(migrationPage, "OSC's"))('%s: %s', async (_script, program = '') => {
    const tokens = host.portal.environment(await host.portal.login('alice'));

    await ends(0, `${program} alice /etc/ood/config/hook.env`, tokens);
    // OSC's example of a pre-hook calls its scripts through bash.
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

function isOnLoginNodePage(command: string): Promise<void> {
  const run = ['docs/getting-started-login-node.md', 'docs/upgrade.md'].map(pageText);
  expect(run.join('\n')).toContain(command);
  return Promise.resolve();
}

function isOnPageOfNotebooks(command: string): Promise<void> {
  expect(['docs/batch.md', 'docs/ondemand-apps.md'].map(pageText).join('\n')).toContain(command);
  return Promise.resolve();
}

async function isInConfigDirTest(command: string): Promise<void> {
  const test = new URL('../../node/doctor/config-dir.test.ts', import.meta.url);
  const words = command.split(' ').slice(2);
  expect(await readFile(test, 'utf8')).toContain(words.map((word) => `'${word}'`).join(', '));
}

function isInClusterApiScript(command: string): Promise<void> {
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
  const lines = ci.split('\n').map((line) => line.replace(' -- --groups=new', ''));
  // `npm test` is the unit tests, too.
  expect(lines).toContain(script === 'npm run check' ? 'npm run lint' : script);
}

async function unitsAreInstalled(command: string): Promise<void> {
  const units = command.split(' ').slice(3);
  expect(units.length).toBeGreaterThan(0);
  // NAME@INSTANCE.service is made of the template NAME@.service.
  for (const unit of units)
    await access(host.path(`/etc/systemd/system/${unit.replace(/@[^.]*/, '@')}`));
}
