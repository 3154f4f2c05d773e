import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openSite, type Site } from '../../rig/site/site.ts';
import { baseDn, escapeRdnValue, groupEntry, personEntry, Slapd } from '../../rig/slapd.ts';
import { SyncSite } from './sync-site.ts';

let site: Site;
let host: SyncSite;
let slapd: Slapd;

beforeAll(async () => {
  site = await openSite();
  host = await SyncSite.make(site);
  slapd = await Slapd.start(
    { certificate: await site.certificates.server('slapd'), ca: site.ca.file },
    [
      personEntry('anna', 20001),
      personEntry('boris', 20002, { gidNumber: 30000 }),
      personEntry('c.d@e', 20003),
      groupEntry('users', 100),
      groupEntry('chem', 30000, ['anna']),
      groupEntry('bio, and "more"', 30001, ['anna', 'boris', 'boris', 'nobody-here']),
    ],
  );
});
afterEach(() => host.clear());
afterAll(async () => {
  await slapd.remove();
  await host.remove();
});

describe('berth ldap-sync', () => {
  it("writes UID, GID and groups of each user to the user's namespace", async () => {
    await host.configure(slapd);
    await host.makeNamespaces(['anna', 'boris', 'c.d@e']);

    const { exitCode, stdout, stderr } = await host.sync();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('3 users, 3 groups');
    expect(stdout).toContain('prod: 3 namespaces changed, 0 unchanged');
    expect(await host.annotations('anna')).toEqual({
      ...{ owner: 'anna', 'last-hook-execution': '1700000000' },
      ...{ uid: '20001', gid: '100', groups: '100,30000,30001' },
    });
    expect(await host.annotations('boris')).toMatchObject({ gid: '30000', groups: '30000,30001' });
    expect(await host.annotations('c.d@e')).toMatchObject({ uid: '20003', groups: '100' });
  });

  it('writes only differences', async () => {
    await host.configure(slapd);
    await host.makeNamespaces(['anna', 'boris']);
    await host.sync();
    await slapd.replace(`cn=${escapeRdnValue('chem')},ou=groups,${baseDn}`, 'memberUid', 'boris');
    const before = await host.cluster.get('namespace', host.namespaceOf('boris'));

    const { clusters } = await host.report();

    expect(clusters[0]).toMatchObject({
      unchanged: 1,
      changes: [
        {
          namespace: host.namespaceOf('anna'),
          kind: 'update',
          after: { 'openondemand.org/groups': '100,30001' },
        },
      ],
    });
    const after = await host.cluster.get('namespace', host.namespaceOf('boris'));
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    await slapd.replace(`cn=chem,ou=groups,${baseDn}`, 'memberUid', 'anna');
  });

  it('marks the namespace of a user who has left, and removes the mark when the user is back', async () => {
    await host.configure(slapd, { keep_percent: 50 });
    await host.makeNamespaces(['anna', 'boris']);
    await host.sync();
    await slapd.delete(`uid=boris,ou=people,${baseDn}`);

    const gone = await host.sync();

    expect(gone.stdout).toContain(`marked as removed: ${host.namespaceOf('boris')} of boris`);
    const { removed, ...rest } = await host.annotations('boris');
    expect(Math.abs(Number(removed) - Date.now() / 1000)).toBeLessThan(60);
    expect(rest).toMatchObject({ uid: '20002', owner: 'boris' });
    expect(await host.annotations('anna')).not.toHaveProperty('removed');

    expect((await host.report()).clusters[0]?.changes).toEqual([]);
    expect((await host.annotations('boris')).removed).toBe(removed);

    await slapd.add(personEntry('boris', 20002, { gidNumber: 30000 }));
    const back = await host.sync();
    expect(back.stdout).toContain(`no longer marked as removed: ${host.namespaceOf('boris')}`);
    expect(await host.annotations('boris')).not.toHaveProperty('removed');
  });

  it('shows with --dry-run what it would write, and writes nothing', async () => {
    await host.configure(slapd);
    await host.makeNamespaces(['anna'], { 'openondemand.org/uid': '7' });

    const { exitCode, stdout } = await host.sync('--dry-run');

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`would change ${host.namespaceOf('anna')} of anna (uid 7 -> 20001`);
    expect(await host.annotations('anna')).not.toHaveProperty('groups');
    expect(await host.cluster.get('configmap', 'berth-ldap-sync', 'ondemand')).toBeUndefined();
  });

  it('does not change a namespace without an owner, or not made by the hook', async () => {
    await host.configure(slapd);
    const name = host.namespaceOf('anna');
    await host.cluster.create(host.namespace(name, { 'openondemand.org/uid': '1' }));

    const { stdout } = await host.sync();

    expect(stdout).toContain(`${name} has no owner`);
    expect(await host.annotations('anna')).toEqual({ uid: '1' });
  });
});

describe('the two schemas of group membership', () => {
  it.each(['rfc2307bis', 'memberof'] as const)('%s', async (schema) => {
    const dn = (cn: string): string => `cn=${escapeRdnValue(cn)},ou=groups,${baseDn}`;
    const lists = schema === 'rfc2307bis';
    const groupOf = (
      cn: string,
      gid: number,
      ...members: string[]
    ): ReturnType<typeof groupEntry> => ({
      ...{ dn: dn(cn), objectClass: ['groupOfNames', 'posixGroup'], cn, gidNumber: gid },
      member: ['cn=nobody', ...(lists ? members : [])],
    });
    const other = await Slapd.start(
      {
        certificate: await site.certificates.server('slapd'),
        ca: site.ca.file,
        schema: 'rfc2307bis',
      },
      [
        personEntry('anna', 20001, {
          // Any attribute of DNs does: the server's memberOf overlay is not what is tested.
          ...(lists ? {} : { objectClass: ['account', 'posixAccount', 'extensibleObject'] }),
          ...(lists ? {} : { seeAlso: [dn('a,b').toUpperCase(), dn('c+d')] }),
        }),
        groupOf('a,b', 30000, `UID=Anna, OU=people,${baseDn}`),
        groupOf('c+d', 30001, `uid=\\61nna,ou=people,${baseDn}`),
        groupOf('others', 30002, `uid=annabel,ou=people,${baseDn}`),
      ],
    );
    try {
      await host.configure(other, {
        groups: { schema, ...(lists ? {} : { member: 'seeAlso' }) },
      });
      await host.makeNamespaces(['anna']);
      const { exitCode, stderr } = await host.sync();
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(await host.annotations('anna')).toMatchObject({ groups: '100,30000,30001' });
    } finally {
      await other.remove();
    }
  });
});
