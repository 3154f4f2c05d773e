import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { installDirectory } from '../../../rig/site/portal.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { type FreshPortal, freshPortal, timed } from './fresh-portal.ts';
import { portalUser } from './portal-user.ts';
import { pass } from './response-faults.ts';
import { type Behaviour, refuse, StandIn } from './api-server-proxy.ts';

const user = 'faults-inherit';
const here = portalUser(user);

interface Start {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdio?: StdioOptions;
  /** A shell's redirections. */
  readonly redirect?: string;
}

/** Starts the hook as a child process. */
function start({ env = {}, stdio = 'ignore', redirect }: Start): ChildProcess {
  const hook = join(installDirectory, 'hooks/pre-pun');
  const words = [hook, '--user', user, '--config', here.portal.files.berth];
  const options = { cwd: '/', env: { ...here.portal.environment(here.tokens), ...env }, stdio };
  return redirect === undefined
    ? spawn(hook, words.slice(1), options)
    : spawn('/bin/sh', ['-c', `exec "$@" ${redirect}`, 'sh', ...words], options);
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

const config = (): Promise<string> => readFile(join(here.account.home, '.kube/config'), 'utf8');

describe('processes that outlive the hook', () => {
  it('do not exist, with any kind of credential', async () => {
    const mark = randomUUID();
    await here.portal.writeHookEnv({ CLIENT_ID: 'ondemand', CLIENT_SECRET: 'ondemand-secret' });
    await here.portal.writeBerth({
      deadline: '10s',
      defaults: {
        credentials: { ca_file: here.site.ca.file, audience: 'ondemand', token: 'access' },
      },
    });
    here.tokens = await here.site.keycloak.login(user);
    const child = start({ env: { BERTH_TEST_MARK: mark } });

    await exitOf(child);

    expect(await processesWith(mark)).toEqual([]);
    // The same search finds a process that does exist.
    const other = spawn('sleep', ['60'], { env: { ...process.env, BERTH_TEST_MARK: mark } });
    await once(other, 'spawn');
    expect(await processesWith(mark)).toHaveLength(1);
    other.kill();
    here.tokens = await here.portal.login(user);
  });
});

describe('a hostile environment', () => {
  it.each([
    { name: 'KUBECONFIG', value: '/dev/full' },
    { name: 'HOME', value: '/nonexistent' },
    { name: 'TMPDIR', value: '/nonexistent' },
    { name: 'SSL_CERT_FILE', value: '/dev/null' },
    { name: 'NODE_EXTRA_CA_CERTS', value: '/nonexistent' },
    { name: 'HTTPS_PROXY', value: 'http://127.0.0.1:9' },
    { name: 'LANG', value: 'xx_XX.nonsense' },
    { name: 'TZ', value: '../../etc/shadow' },
  ])('$name=$value changes nothing', async ({ name, value }) => {
    const child = start({ env: { [name]: value } });

    expect(await exitOf(child)).toBe(0);
    expect(await config()).toContain('kube-credential');
  });

  it('NODE_OPTIONS is not passed on to Node', async () => {
    const evil = join(here.portal.directory, 'evil.cjs');
    await writeFile(evil, 'process.exit(42);');

    expect(await exitOf(start({ env: { NODE_OPTIONS: `--require=${evil}` } }))).toBe(0);
  });
});

describe('standard streams that are closed or unusable', () => {
  it.each([
    { what: 'standard input closed', redirect: '<&-' },
    { what: 'standard output closed', redirect: '>&-' },
    { what: 'standard error closed', redirect: '2>&-' },
    { what: 'all three closed', redirect: '<&- >&- 2>&-' },
    { what: 'standard error on a full disk', redirect: '2>/dev/full' },
  ])('$what: the hook succeeds, and no log line is in the kubeconfig', async (given) => {
    expect(await exitOf(start({ redirect: given.redirect }))).toBe(0);
    expect(await config()).toContain('kube-credential');
    expect(await config()).not.toContain('level=');
  });

  it.each([
    { what: 'standard output', descriptor: 1, pipe: '2>/dev/null' },
    { what: 'standard error', descriptor: 2, pipe: '2>&1 >/dev/null' },
  ])('$what a full pipe that nobody reads', async ({ descriptor, pipe }) => {
    // A pipe of the shell, because Node gives a child a socket. It holds 64 KiB; its reader sleeps.
    const status = join(here.portal.directory, 'status');
    const script = `{ head -c 65536 /dev/zero >&${descriptor}
      timeout --signal=KILL 15 "$@"; echo $? >&3; } ${pipe} 3>${status} | sleep 16`;
    const hook = join(installDirectory, 'hooks/pre-pun');
    const words = ['sh', hook, '--user', user, '--config', here.portal.files.berth];
    const shell = spawn('/bin/sh', ['-c', script, ...words], {
      cwd: '/',
      env: here.portal.environment(here.tokens),
      stdio: 'ignore',
      detached: true,
    });
    try {
      const ended = { what: 'the hook to end', timeoutMs: 12_000, everyMs: 50 };
      const code = await waitFor(ended, async () => (await readFile(status, 'utf8')) || undefined);

      expect(code).toBe('0\n');
      expect(await config()).toContain('kube-credential');
    } finally {
      // The whole process group: the sleeping reader too.
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
    }
  });
});

describe('text from a server', () => {
  const forged = 'no\u001b[2J\u009b1m\u202e\r\nlevel=info msg="namespace created" user=root\u0007';

  it('cannot control a terminal or forge a line, in the log or in a plan', async () => {
    let behave: Behaviour = refuse(500, { message: forged });
    const standIn = await StandIn.open(here.site, (seen) => behave(seen));
    try {
      here.portal = await freshPortal(here.site, { url: standIn.url });
      const hook = await timed(here.portal.prePun(user));
      const outputs = [hook];
      for (const format of ['text', 'json']) outputs.push(await timed(plan('--output', format)));
      const checked = await timed(here.portal.berth('doctor', '--output', 'json'));
      outputs.push(checked, await timed(here.portal.berth('doctor')));
      behave = pass;
      await here.portal.prePun(user);
      const annotate = `note=${forged}`;
      await here.site.kubectl([
        'annotate',
        'networkpolicies',
        '--all',
        annotate,
        '-n',
        here.portal.namespaceOf(user),
      ]);
      await here.site.kubectl([
        ...['patch', 'networkpolicies', '--all', '-n', here.portal.namespaceOf(user)],
        ...['--type=merge', '-p', '{"spec":{"policyTypes":["Egress"]}}'],
      ]);
      outputs.push(await timed(here.portal.prePun(user, {}, '--dry-run')));

      expect(hook.errors).toHaveLength(1);
      expect(hook.errors[0]?.msg).toContain('\\u{1b}[2J');
      expect(hook.stderr).not.toMatch(/^level=info/m);
      expect(checked.stdout).toContain('no\\u001b[2J\\u009b1m\\u202e');
      for (const { stdout, stderr } of outputs) {
        expect(stdout + stderr).not.toMatch(/[^\P{C}\n\t]/u);
      }
    } finally {
      await standIn.close();
    }
  });

  const plan = (...words: string[]): ReturnType<FreshPortal['berth']> =>
    here.portal.berth('plan', '--user', user, ...words);
});

/** Command lines of the processes whose environment holds this. */
async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // The process has ended meanwhile.
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      return environment.includes(text) ? readFile(`/proc/${pid}/cmdline`, 'utf8') : undefined;
    }),
  );
  return found.filter((line) => line !== undefined);
}
