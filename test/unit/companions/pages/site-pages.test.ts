import { describe, expect, it } from 'vitest';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import { pagesConfigMap } from '../../../../src/companions/pages/rules/config-map.ts';
import { html } from '../../../../src/companions/pages/rules/html.ts';
import { profileFacts } from '../../../../src/companions/pages/rules/profile-facts.ts';
import { sitePages } from '../../../../src/companions/pages/rules/site-pages.ts';
import type { SshAddress, Site } from '../../../../src/companions/pages/rules/site.ts';
import { statusRows } from '../../../../src/companions/pages/rules/status.ts';
import { exampleSite, profileOf, siteWith } from './example-site.ts';

const pageOf = (path: string, site: Site = exampleSite): string =>
  sitePages(site).find((page) => page.path === path)?.text ?? '';
/** As a browser shows it, without the markup. */
const textOf = (path: string, site?: Site): string =>
  pageOf(path, site)
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
const address = (more: Partial<SshAddress> = {}): SshAddress => ({
  ...{ host: 'login.example.org', port: 22, sshdPort: 22 },
  ...more,
});

it('says what users get and ask, and for which host', () => {
  const settings = { ...exampleSite.settings, selfService: 'berth' };
  const words = (path: string, more: Partial<Site> = {}): string =>
    textOf(path, { ...exampleSite, settings, ...more }).replaceAll(/\s+/g, ' ');
  expect(words('index.html', { addresses: [] })).toContain('ssh USER@login.example.org');
  expect(words('index.html', { addresses: [] })).not.toContain('HOST');
  expect(words('profiles.html')).toContain('you connect, and that is not on request.');
  expect(words('status.html')).toMatch(
    /Your own sessions: ssh USER@\S+ berth sessions Your jobs, quotas and credentials: ssh USER@\S+ berth status/,
  );
});

describe('the template', () => {
  it('escapes what is filled in', () => {
    expect(html`<a b="${`"'<&>`}">${['<', html`<i></i>`, 1, undefined]}</a>`.text).toBe(
      '<a b="&#34;&#39;&#60;&#38;&#62;">&#60;<i></i>1</a>',
    );
  });
});

describe('how to connect', () => {
  it('has the port where it is not 22', () => {
    const text = textOf('index.html', { ...exampleSite, addresses: [address({ port: 2022 })] });
    expect(text).toContain('ssh -p 2022 USER@login.example.org');
    expect(text).toContain('sftp -P 2022 USER@login.example.org');
    expect(text).toContain('Host login\n    HostName login.example.org\n    Port 2022\n');
    expect(textOf('index.html')).toContain('ssh USER@login.example.org');
  });

  it('has a name for each of several kinds', () => {
    const addresses = [
      address({ name: 'podman' }),
      address({ name: 'pods', port: 2022, profile: 'pod' }),
    ];
    const text = textOf('index.html', { ...exampleSite, addresses });
    expect(text).toContain('Host login-podman\n');
    expect(text).toContain('Host login-pods\n');
    expect(text).toMatch(/Your session has the profile\s+pod\./);
    expect(text).toContain('code --remote ssh-remote+login-podman');
  });

  it('has fingerprints and the line of the CA only if there are any', () => {
    expect(textOf('index.html')).not.toContain('Is it the right host?');
    const hostKeys = [{ type: 'ED25519', fingerprint: 'SHA256:abc' }];
    const without = textOf('index.html', { ...exampleSite, hostKeys });
    expect(without).toMatch(/ED25519\s+SHA256:abc/);
    expect(without).not.toContain('known_hosts');
    const authorities = ['@cert-authority login.example.org ssh-ed25519 AAAA'];
    expect(textOf('index.html', { ...exampleSite, hostKeys, authorities })).toContain(
      authorities[0] ?? '',
    );
  });
});

describe('profiles', () => {
  it('are those that a rule or an sshd names, in the order of the rules', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => profileOf(name));
    const profiles = [a, b, c, d].flatMap((one) => one ?? []);
    const addresses = [address(), address({ port: 2022, sshdPort: 2022, profile: 'a' })];
    const rules = [{ profile: 'c', onRequest: true }, { profile: 'b' }];
    const page = pageOf('profiles.html', siteWith(profiles, rules, { addresses }));
    expect([...page.matchAll(/<h2 id="profile-(\w)">/g)].map(([, name]) => name)).toEqual([
      ...['c', 'b', 'a'],
    ]);
    expect(page).toContain('ssh -o SetEnv=BERTH_PROFILE=c USER@login.example.org');
    expect(page).not.toContain('BERTH_PROFILE=a');
  });

  it('cannot be asked for where no rule fits the port', () => {
    const rules = [{ profile: 'a', ports: [332] }, { profile: 'b' }];
    const profiles = ['a', 'b'].map((name) => profileOf(name));
    const ask = (addresses: readonly SshAddress[]) =>
      /ssh [^<]*BERTH_PROFILE=a [^<]*/.exec(
        pageOf('profiles.html', siteWith(profiles, rules, { addresses })),
      )?.[0];
    expect(ask([address()])).toBeUndefined();
    // Behind a balancer, the rule has the port of sshd.
    expect(ask([address(), address({ port: 2022, sshdPort: 332 })])).toBe(
      'ssh -p 2022 -o SetEnv=BERTH_PROFILE=a USER@login.example.org',
    );
  });

  it('with a mistake are said to be unavailable, without the mistake', () => {
    const error = new BerthError('profile-invalid', '/etc/berth/profiles/a.yml:3');
    const settings = {
      rules: [{ profile: 'a' }],
      profiles: new Map(),
      broken: new Map([['a', { error }]]),
    };
    const text = textOf('profiles.html', { ...exampleSite, settings });
    expect(text).toContain('Not available at the moment');
    expect(text).not.toContain('a.yml');
  });

  const facts = (
    document: object,
    rules: Site['settings']['rules'] = [{ profile: 'a' }],
    addresses = [address()],
  ) => Object.fromEntries(profileFacts(profileOf('a', document), rules, addresses));

  it.each<[Site['settings']['rules'][number][], readonly string[] | undefined, string]>([
    [[{ profile: 'a' }], undefined, 'everybody'],
    [[{ profile: 'a' }], ['x', 'y'], 'members of x or y'],
    [[{ profile: 'a', groups: ['x'] }], ['x', 'y'], 'members of x'],
    [[{ profile: 'a', groups: ['z'] }], ['x'], 'members of z who are also members of x'],
    [[{ profile: 'a', users: ['eve', 'bob'] }], undefined, '2 accounts'],
    [[{ profile: 'a', onRequest: true }], undefined, 'everybody, on request'],
    [[{ profile: 'a', ports: [332] }], undefined, 'everybody, on port 2022'],
    [
      [
        { profile: 'a', groups: ['x'] },
        { profile: 'a', users: ['u'] },
      ],
      undefined,
      'members of x; 1 account',
    ],
  ])('%j with the groups %j are for %s', (rules, groups, expected) => {
    const addresses = [address({ port: 2022, sshdPort: 332 })];
    expect(facts({ ...(groups && { groups }) }, rules, addresses).For).toBe(expected);
  });

  it('of an sshd are for its port', () => {
    expect(facts({ groups: ['x'] }, [], [address({ port: 2022, profile: 'a' })]).For).toBe(
      'members of x, on port 2022',
    );
  });

  it.each([
    [{}, 'with the connection'],
    [{ lifetime: 'user', grace: '0s' }, 'with the last connection'],
    [{ lifetime: 'user', grace: '90m' }, '90 minutes after the last connection'],
    [{ lifetime: '8h' }, 'at the latest after 8 hours'],
    [
      { lifetime: 'user', grace: '1h', timeouts: { idle: '8h', soft: '72h', hard: '168h' } },
      '1 hour after the last connection; after 8 hours without input and output; with the last connection after 3 days; at the latest after 7 days',
    ],
  ])('%j end %s', (document, expected) => {
    expect(facts(document).Ends).toBe(expected);
  });

  it('have limits, directories and a place', () => {
    const document = {
      limits: { cpus: 1, memory: '512M', pids: 64 },
      mounts: [{ source: '${HOME}' }, { source: '/sw', target: '/software', read_only: true }],
      network: 'none',
    };
    expect(facts(document)).toMatchObject({
      'Runs in': 'a container on the login node',
      Limits: '1 CPU, 512 MiB of memory, 64 processes',
      Directories: '$HOME, /software (read only)',
      Network: 'none',
    });
    expect(
      facts({ backend: 'pod', pod: { cluster: 'prod' }, limits: { memory: '16G' } }),
    ).toMatchObject({
      ...{ 'Runs in': 'a pod on the cluster prod', Limits: '16 GiB of memory' },
    });
  });
});

describe('the status', () => {
  const reap = 'berth_ssh_reap_last_run_timestamp_seconds 1000\nberth_ssh_sessions_open 1\n';
  const at = (epoch: number): string => `at ${epoch}`;

  it('says what works, has errors, or does not run', () => {
    const sync = (cluster: string, success: number, lastRun: number): string =>
      `berth_ldap_sync_success{cluster="${cluster}"} ${success}\nberth_ldap_sync_last_run_timestamp_seconds{cluster="${cluster}"} ${lastRun}\n`;
    const syncs = [sync('bad', 0, 900), sync('good', 1, 950)];
    expect(statusRows([reap, ...syncs], 1900, at)).toEqual([
      {
        ...{ what: 'Cleanup of sessions', state: 'works', lastRun: 'at 1000' },
        figures: [[1, 'open connection']],
      },
      { what: 'Groups on the clusters', state: 'has errors', lastRun: 'at 900', figures: [] },
    ]);
    expect(statusRows([reap], 1901, at)).toMatchObject([{ state: 'does not run' }]);
  });

  it('is not guessed from what is no sample', () => {
    expect(
      statusRows(['', '# HELP x y\nberth_ssh_reap_last_run_timestamp_seconds NaN'], 0, at),
    ).toEqual([]);
    expect(textOf('status.html')).toContain('Nothing is known');
  });
});

describe('the ConfigMap', () => {
  it('takes a mebibyte, and says which page is too much', () => {
    const files = (size: number) => [
      { path: 'a.html', text: 'ab' },
      // Two bytes each.
      { path: 'b.html', text: 'é'.repeat(size / 2 - 1) },
    ];
    expect(pagesConfigMap(files(1024 * 1024))).toContain('name: berth-pages\n');
    expect(() => pagesConfigMap(files(1024 * 1024 + 2))).toThrow(
      expect.objectContaining({
        code: 'pages-too-large',
        message: expect.stringContaining(
          'have 1048578 bytes, and a ConfigMap holds 1048576 bytes at most; the largest is b.html with 1048576 bytes',
        ) as unknown,
      }) as Error,
    );
  });
});
