import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openSite, type Site } from '../../rig/site/site.ts';
import { baseDn, groupEntry, personEntry, Slapd } from '../../rig/slapd.ts';
import { SyncSite } from './sync-site.ts';

let site: Site;
let host: SyncSite;

beforeAll(async () => {
  site = await openSite();
  host = await SyncSite.make(site);
});
afterEach(() => host.clear());
afterAll(() => host.remove());

async function withSlapd(
  entries: Parameters<typeof Slapd.start>[1],
  work: (slapd: Slapd) => Promise<void>,
): Promise<void> {
  const certificate = await site.certificates.server('slapd');
  const slapd = await Slapd.start({ certificate, ca: site.ca.file }, entries);
  try {
    await work(slapd);
  } finally {
    await slapd.remove();
  }
}

describe('invalid entries', () => {
  const hostile = [
    personEntry('is-root', 0),
    personEntry('negative', -5),
    personEntry('below', 999),
    personEntry('above', '4294967295'),
    personEntry('group-root', 20_010, { gidNumber: 0 }),
    personEntry('twin-one', 20_020),
    personEntry('twin-two', 20_020),
    personEntry('jürgen', 20_030),
    personEntry('a b; rm -rf', 20_031),
    {
      dn: `cn=one,ou=people,${baseDn}`,
      objectClass: ['account', 'posixAccount', 'extensibleObject'],
      ...{
        uid: ['two', 'names'],
        cn: 'one',
        uidNumber: 20_040,
        gidNumber: 100,
        homeDirectory: '/',
      },
    },
    personEntry('\u001b[2Jescape', 20_050),
  ];

  it('are left out, one by one, and their namespaces stay as they are', async () => {
    const entries = [
      ...hostile,
      personEntry('anna', 20_001),
      groupEntry('users', 100),
      groupEntry('wheel', 0, ['anna']),
      groupEntry('negative', -1, ['anna']),
      groupEntry('a, "b", c', 30_000, ['anna']),
      groupEntry('größe', 30_001, ['anna']),
    ];
    await withSlapd(entries, async (slapd) => {
      await host.configure(slapd);
      const refused = [
        'is-root',
        'negative',
        'below',
        'above',
        'group-root',
        'twin-one',
        'twin-two',
      ];
      await host.makeNamespaces([...refused, 'anna'], { 'openondemand.org/uid': '20099' });

      const { exitCode, stderr } = await host.sync();

      expect(exitCode).toBe(0);
      for (const reason of [
        'user is-root is left out: uidNumber 0 is below 1000',
        'user negative is left out: uidNumber -5 is below 1000',
        'user below is left out: uidNumber 999 is below 1000',
        'user above is left out: uidNumber 4294967295 is above 4294967294',
        'user group-root is left out: gidNumber 0 is below 1',
        'user twin-one is left out: twin-two has the same UID 20020',
        'user twin-two is left out: twin-one has the same UID 20020',
        'user jürgen is left out: uid is not a valid login name',
        'user a b; rm -rf is left out: uid is not a valid login name',
        'user cn=one,ou=people,dc=site,dc=test is left out: it has no single uid',
        'group wheel is left out: gidNumber 0 is below 1',
        'group negative is left out: gidNumber -1 is below 1',
      ])
        expect(stderr).toContain(reason);
      expect(stderr).not.toContain('\u001b');
      for (const name of refused)
        expect(Object.keys(await host.annotations(name)).sort()).toEqual([
          ...['last-hook-execution', 'owner', 'uid'],
        ]);
      expect(await host.annotations('anna')).toMatchObject({ groups: '100,30000,30001' });
    });
  });
});

describe('people whose names are written in another way', () => {
  /** What Active Directory sends for each naming context below the base. */
  const naming = (dn: string): Parameters<typeof Slapd.start>[1][number] => ({
    ...{ dn: `${dn},${baseDn}`, objectClass: ['referral', 'extensibleObject'] },
    ref: `ldap://dc.${dn.slice(3)}.site.test/${dn},${baseDn}`,
    [dn.slice(0, 2)]: dn.slice(3),
  });

  it('keep their namespaces, below bases that overlap', async () => {
    const entries = [
      personEntry('JSmith', 20_001),
      {
        ...personEntry('jane', 20_002),
        ...{ dn: `cn=Jane Doe,ou=people,${baseDn}`, cn: 'Jane Doe', uid: ['jane', 'jane.doe'] },
      },
      personEntry('mmüller', 20_003),
      personEntry('renamed', 20_004),
      groupEntry('users', 100),
      groupEntry('chem', 30_000, ['JSMITH']),
      ...['dc=DomainDnsZones', 'dc=ForestDnsZones', 'cn=Configuration'].map(naming),
    ];
    await withSlapd(entries, async (slapd) => {
      const base = [`ou=people,${baseDn}`, baseDn.toUpperCase()];
      await host.configure(slapd, { users: { base }, groups: { base: baseDn } });
      const held = ['jane', 'jane.doe', 'mmuller'];
      await host.makeNamespaces(['jsmith', ...held, 'gone']);
      await host.makeNamespaces(['former'], { 'openondemand.org/uid': '20004' });

      const { exitCode, stdout } = await host.sync();

      expect(exitCode).toBe(0);
      expect(stdout).toContain('2 users, 2 groups');
      expect(await host.annotations('jsmith')).toMatchObject({
        ...{ uid: '20001', groups: '100,30000', owner: 'jsmith' },
      });
      for (const name of [...held, 'former']) {
        expect(await host.annotations(name)).not.toHaveProperty('removed');
        expect(stdout).toContain(`${host.namespaceOf(name)} is left as it is: its owner ${name} `);
      }
      expect(await host.annotations('gone')).toHaveProperty('removed');
    });
  });

  it('are looked for below every base: one without anybody is an error', async () => {
    const entries = [personEntry('anna', 20_001), groupEntry('users', 100)];
    await withSlapd(entries, async (slapd) => {
      const base = [`ou=people,${baseDn}`, `ou=groups,${baseDn}`];
      await host.configure(slapd, { users: { base } });
      await host.makeNamespaces(['anna', 'elsewhere']);
      const { exitCode, stderr } = await host.sync();
      expect(stderr).toContain(`no valid users found below ou=groups,${baseDn}`);
      expect(exitCode).toBe(78);
      expect(await host.annotations('elsewhere')).not.toHaveProperty('removed');
    });
  });
});

describe('five thousand users', () => {
  const users = Array.from({ length: 5000 }, (_, n) => `many-${n}`);

  it('are read page by page, and only differences are written', { timeout: 300_000 }, async () => {
    const entries = [
      ...users.map((name, n) => personEntry(name, 20_000 + n)),
      groupEntry('users', 100),
      ...Array.from({ length: 50 }, (_, g) =>
        groupEntry(
          `project-${g}`,
          30_000 + g,
          users.filter((_name, n) => n % 50 === g),
        ),
      ),
    ];
    await withSlapd(entries, async (slapd) => {
      await host.configure(slapd, { page_size: 500 });
      await host.makeNamespaces(users.filter((_, n) => n % 100 === 7));

      const first = await host.report();
      expect(first).toMatchObject({ users: 5000, groups: 51 });
      expect(first.clusters[0]?.changes).toHaveLength(50);
      expect(await host.annotations('many-4907')).toMatchObject({
        ...{ uid: '24907', groups: '100,30007' },
      });

      const started = performance.now();
      const second = await host.report();
      expect(second.clusters[0]).toMatchObject({ changes: [], unchanged: 50 });
      console.info(`5,000 users, nothing to do: ${Math.round(performance.now() - started)} ms`);
    });
  });
});

describe("the ConfigMaps of OSC's k8-ldap-configmap", () => {
  const maps = ['user-uid', 'user-gid', 'user-groups', 'user-gids', 'user-home'];

  async function data(name: string): Promise<Readonly<Record<string, string>>> {
    const live = await host.cluster.get('configmap', name, 'k8-ldap-configmap');
    return (live?.data ?? {}) as Record<string, string>;
  }

  afterAll(async () => {
    const all = maps.map((map) => `${map}-map`);
    await host.cluster.kubectl([
      ...['-n', 'k8-ldap-configmap', 'delete', 'configmap', '--ignore-not-found', ...all],
    ]);
  });

  it('have what its mappers write, without users who have left', async () => {
    const entries = [
      personEntry('anna', 20_001),
      personEntry('boris', 20_002, { gidNumber: 30_000 }),
      personEntry('c@d', 20_003),
      groupEntry('users', 100),
      groupEntry('chem, "phys"', 30_000, ['anna']),
    ];
    await withSlapd(entries, async (slapd) => {
      const config_maps = { maps, user_prefix: 'hpc-' };
      await host.configure(slapd, { config_maps, keep_percent: 20 });

      const { exitCode, stdout, stderr } = await host.sync();

      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout).toContain('created ConfigMap k8-ldap-configmap/user-uid-map, 2 users');
      expect(stdout).toContain('user-uid-map leaves out c@d:');
      expect(await data('user-uid-map')).toEqual({ 'hpc-anna': '20001', 'hpc-boris': '20002' });
      expect(await data('user-gid-map')).toEqual({ 'hpc-anna': '100', 'hpc-boris': '30000' });
      expect(await data('user-gids-map')).toEqual({
        ...{ 'hpc-anna': '["100","30000"]', 'hpc-boris': '["30000"]' },
      });
      expect(JSON.parse((await data('user-groups-map'))['hpc-anna'] ?? '')).toEqual([
        ...['chem, "phys"', 'users'],
      ]);
      expect((await data('user-home-map'))['hpc-anna']).toBe('/home/anna');

      const before = await host.cluster.get('configmap', 'user-uid-map', 'k8-ldap-configmap');
      await host.sync();
      const same = await host.cluster.get('configmap', 'user-uid-map', 'k8-ldap-configmap');
      expect(same?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);

      await slapd.delete(`uid=boris,ou=people,${baseDn}`);
      // Refused, and not gone: the key stays.
      await slapd.replace(`uid=anna,ou=people,${baseDn}`, 'uidNumber', 0);
      await host.sync();
      expect(await data('user-uid-map')).toEqual({ 'hpc-anna': '20001' });
    });
  });

  it('are refused before anything is written if Kubernetes would not take one', async () => {
    const users = Array.from({ length: 100 }, (_, n) => `user-${n}`);
    const entries = [
      ...users.map((user, n) => personEntry(user, 20_000 + n)),
      ...Array.from({ length: 60 }, (_, n) =>
        groupEntry(`${n}-${'x'.repeat(200)}`, 30_000 + n, users),
      ),
    ];
    await withSlapd(entries, async (slapd) => {
      const config_maps = { maps: ['user-home', 'user-groups'], user_prefix: 'long-' };
      await host.configure(slapd, { config_maps, keep_percent: 1 });
      await host.makeNamespaces(['user-1']);
      const before = await data('user-home-map');

      const { exitCode, stderr } = await host.sync();

      expect(stderr).toMatch(
        /ConfigMap user-groups-map would have 12\d{5} bytes; the limit is 1048576 \[config-map-too-large\]/,
      );
      expect(exitCode).toBe(78);
      expect(await data('user-home-map')).toEqual(before);
      const [annotations = {}] = (await host.allAnnotations()).values();
      expect(Object.keys(annotations).sort()).toEqual(['last-hook-execution', 'owner']);
    });
  });
});
