import { describe, expect, it } from 'vitest';
import { parseLdap } from '../../../../src/config/schema/ldap-settings.ts';
import {
  directoryMap,
  namespaceLosses,
  planNamespaces,
} from '../../../../src/clusters/ldap/rules/namespace-annotations.ts';
import { assertEnoughEntries } from '../../../../src/directory/rules/refuse-shrunken-directory.ts';
import type { HeldRuns, LdapEntry } from '../../../../src/directory/rules/possible-people.ts';
import { type LdapUsers, ldapUsersOf } from '../../../../src/directory/rules/ldap-users.ts';

function entry(dn: string, attributes: Readonly<Record<string, string | string[]>>): LdapEntry {
  const values = Object.entries(attributes).map(([key, value]) => [
    key.toLowerCase(),
    [value].flat(),
  ]);
  return { dn, values: new Map(values as [string, string[]][]) };
}

const numbers = { uidNumber: '5001', gidNumber: '6000' };
const staff = entry('cn=staff,dc=x', { cn: 'staff', gidNumber: '6000' });

function peopleOf(
  users: readonly LdapEntry[],
  { name = 'uid', groups = [staff], schema = 'rfc2307' } = {},
): LdapUsers {
  const base = {
    url: 'ldaps://h',
    users: { base: 'dc=x', name },
    groups: { base: 'dc=x', schema },
  };
  const rules = { ...parseLdap(base, 'berth.yml'), minimumUid: 1000 };
  return ldapUsersOf({ url: 'ldaps://h', users, groups }, rules);
}

function planOf(
  people: LdapUsers,
  owner: string,
  more: object = {},
  heldRuns: HeldRuns = new Map(),
): ReturnType<typeof planNamespaces> {
  const annotations = { 'openondemand.org/owner': owner, ...more };
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'user-a', annotations },
  };
  return planNamespaces([namespace], people, 1_800_000_000, heldRuns);
}

const ad = (attributes: Readonly<Record<string, string | string[]>>): LdapUsers =>
  peopleOf([entry('CN=Jane Smith,OU=Staff,DC=x', { ...numbers, ...attributes })], {
    name: 'sAMAccountName',
  });

describe('the namespace of a person who is in the directory is never marked', () => {
  it.each(['jsmith', 'JSmith', 'jsmith '])(
    'but gets the UID of JSmith if its owner is %j',
    (owner) => {
      expect(planOf(ad({ sAMAccountName: 'JSmith' }), owner)).toMatchObject({
        changes: [{ kind: 'update', wanted: { 'openondemand.org/uid': '5001' } }],
        held: new Map(),
      });
    },
  );

  it.each<[string, string, Readonly<Record<string, string | string[]>>]>([
    ['a trailing blank', 'jsmith', { sAMAccountName: 'JSmith ' }],
    ['full-width letters', 'jsmith', { sAMAccountName: 'ＪＳｍｉｔｈ' }],
    ['an invisible character', 'jsmith', { sAMAccountName: 'j\u00ADsmith' }],
    ['an accent', 'muller', { sAMAccountName: 'MÜLLER' }],
    ['an accent of its own', 'muller', { sAMAccountName: 'Mu\u0308ller' }],
    ['a sharp s', 'strasser', { sAMAccountName: 'Straßer' }],
    ['a Turkish capital I', 'ismail', { sAMAccountName: 'İSMAİL' }],
    ['a Turkish small i', 'isik', { sAMAccountName: 'ışık' }],
    ['two login names', 'jsmith', { sAMAccountName: ['JSmith', 'jane.smith'] }],
    ['two login names', 'jane.smith', { sAMAccountName: ['JSmith', 'jane.smith'] }],
    ['no UID', 'jsmith', { sAMAccountName: 'JSmith', uidNumber: [] }],
    ['two UIDs', 'jsmith', { sAMAccountName: 'JSmith', uidNumber: ['5001', '5002'] }],
    ['no login name, but a uid', 'jsmith', { uid: 'JSmith' }],
    ['another uid', 'jsmith', { sAMAccountName: 'js001', uid: 'JSmith' }],
    ['a uid with an option', 'jsmith', { sAMAccountName: 'js001', 'uid;lang-en': 'JSmith' }],
    ['a principal', 'jsmith', { sAMAccountName: 'js001', userPrincipalName: 'JSmith@AD.x' }],
    ['a mail address', 'jsmith', { sAMAccountName: 'js001', mail: 'JSmith@x' }],
    ['a realm', 'jsmith@ad.x', { sAMAccountName: 'JSmith' }],
    ['a common name', 'jsmith', { sAMAccountName: 'js001', cn: ['Jane Smith', 'jsmith'] }],
  ])('with %s: %s', (_, owner, attributes) => {
    const { changes, held } = planOf(ad(attributes), owner);
    expect(changes).toEqual([]);
    expect(held.get('user-a')).toContain(`its owner ${owner} may be CN=Jane Smith,OU=Staff,DC=x`);
  });

  it('with the name in the DN alone', () => {
    const people = peopleOf([entry('USERID=JSmith,dc=x', numbers)]);
    expect(planOf(people, 'jsmith').changes).toEqual([]);
  });

  it('after a new name, by the UID', () => {
    const people = peopleOf([entry('uid=jdoe,dc=x', { ...numbers, uid: 'jdoe' })]);
    const { changes, held } = planOf(people, 'jsmith', { 'openondemand.org/uid': '5001' });
    expect(changes).toEqual([]);
    expect(held.get('user-a')).toContain('UID 5001 is of uid=jdoe,dc=x');
  });

  it('if two entries have the name in different case, or one of them as its second', () => {
    const other = { ...numbers, uidNumber: '5002' };
    for (const uid of ['jsmith', ['jane', 'jsmith']]) {
      const people = peopleOf([
        entry('uid=JSmith,dc=x', { ...numbers, uid: 'JSmith' }),
        entry('uid=jane,dc=x', { ...other, uid }),
      ]);
      expect([...people.users]).toEqual([]);
      expect(planOf(people, 'jsmith').changes).toEqual([]);
    }
  });

  it('and a mark of before is removed', () => {
    const mark = { 'openondemand.org/removed': '1700000000' };
    expect(planOf(ad({ uid: 'JSmith' }), 'jsmith', mark).changes).toMatchObject([
      { kind: 'unmark', wanted: { 'openondemand.org/removed': undefined } },
    ]);
  });
});

it('the namespace of a person who is not in the directory is marked, once', () => {
  const people = ad({ sAMAccountName: 'JSmith', cn: 'Jane Smith', mail: 'jane@x' });
  const uid = { 'openondemand.org/uid': '5002' };
  expect(planOf(people, 'smith', uid).changes).toMatchObject([{ kind: 'mark' }]);
  const mark = { 'openondemand.org/removed': '1700000000' };
  expect(planOf(people, 'smith', mark)).toMatchObject({ changes: [], unchanged: 1 });
});

it.each<Readonly<Record<string, string>>>([{ cn: 'jsmith' }, { mail: 'jsmith@x' }])(
  'a person who has left is not kept for ever by what somebody else wrote: %j',
  (words) => {
    const people = ad({ sAMAccountName: 'eve', ...words });
    const live = { 'hpc-jsmith': '5001', 'hpc-eve': '5001' };
    const map = { kind: 'user-uid', userPrefix: 'hpc-', live } as const;
    let before: HeldRuns = new Map();
    for (let run = 1; run <= 96; run += 1) {
      const { changes, held, heldRuns } = planOf(people, 'jsmith', {}, before);
      expect([changes, heldRuns]).toEqual([[], new Map([['jsmith', run]])]);
      expect(held.get('user-a')).toContain(
        `by the cn or mail of that entry alone: this is run ${run} of 96`,
      );
      expect(directoryMap(people, { ...map, before }).data).toEqual(live);
      before = heldRuns;
    }
    const { changes, heldRuns } = planOf(people, 'jsmith', {}, before);
    expect([changes, heldRuns]).toMatchObject([[{ kind: 'mark' }], new Map([['jsmith', 97]])]);
    expect(directoryMap(people, { ...map, before }).data).toEqual({ 'hpc-eve': '5001' });
    const mark = { 'openondemand.org/removed': '1700000000' };
    expect(planOf(people, 'jsmith', mark, heldRuns)).toMatchObject({
      changes: [],
      held: new Map(),
    });
  },
);

it.each<readonly [string, readonly Readonly<Record<string, string | string[]>>[]]>([
  ['jsmith', [{ cn: 'jsmith' }, { sAMAccountName: ['eve', 'JSmith'] }]],
  ['jsmith', [{ sAMAccountName: ['eve', 'JSmith'] }, { cn: 'jsmith' }]],
  ['jsmith@x', [{ mail: 'jsmith@x' }, { sAMAccountName: ['eve', 'JSmith'] }]],
])('%s, whom an entry names besides what people write, stays without an end', (owner, words) => {
  const entries = words.map((attributes, n) =>
    entry(`CN=Eve ${n},OU=Staff,DC=x`, { ...numbers, ...attributes }),
  );
  const people = peopleOf(entries, { name: 'sAMAccountName' });
  const { held, heldRuns } = planOf(people, owner);
  expect([held.size, heldRuns.size]).toEqual([1, 0]);
});

it.each(['constructor', '__proto__'])('and neither is one who is called %s', (cn) => {
  const people = ad({ sAMAccountName: 'eve', cn });
  const owner = cn;
  const first = planOf(people, owner);
  expect(first.held.get('user-a')).toContain('this is run 1 of 96');
  expect(planOf(people, owner, {}, first.heldRuns).held.get('user-a')).toContain('run 2 of 96');
  const last = new Map([[owner, 96]]);
  expect(planOf(people, owner, {}, last).changes).toMatchObject([{ kind: 'mark' }]);
});

it('a key of a ConfigMap stays if its name may be of somebody in the directory', () => {
  const kind = { kind: 'user-uid', userPrefix: 'hpc-' } as const;
  const live = { 'hpc-jane.smith': '5001', 'hpc-JSmith': '5001', 'hpc-gone': '5003', jane: '1' };
  const people = ad({ sAMAccountName: 'JSmith', uid: 'jane.smith' });
  expect(directoryMap(people, { ...kind, live, before: new Map() }).data).toEqual({
    ...{ 'hpc-jane.smith': '5001', 'hpc-jsmith': '5001' },
  });
});

describe('members of a group', () => {
  const jane = 'CN=Smith\\, Jane+UID=1,OU=Staff,DC=x';

  it.each([
    'cn=smith\\2c jane + uid=1 , ou=STAFF,dc=X',
    'uid=1+cn="Smith,  Jane",ou=Staff,dc=x',
    '2.5.4.3=#0C0B536D6974682C204A616E65+userid=1,OID.2.5.4.11=staff,dc=x',
  ])('are found by %s', (member) => {
    const user = entry(jane, { ...numbers, uid: 'jsmith' });
    const group = entry('cn=chem,dc=x', { cn: 'chem', gidNumber: '6001', member });
    const { users } = peopleOf([user], { groups: [group], schema: 'rfc2307bis' });
    expect(users.get('jsmith')?.groups).toEqual([6000, 6001]);
    const member_of = entry(jane, { ...numbers, uid: 'jsmith', memberOf: member });
    const its = { groups: [entry(jane, { cn: 'chem', gidNumber: '6001' })], schema: 'memberof' };
    expect(peopleOf([member_of], its).users.get('jsmith')?.groups).toEqual([6000, 6001]);
  });

  it('are found by their names in another case', () => {
    const group = entry('cn=chem,dc=x', { cn: 'chem', gidNumber: '6001', memberUid: 'JSMITH ' });
    const user = entry('uid=jsmith,dc=x', { ...numbers, uid: 'JSmith' });
    expect(peopleOf([user], { groups: [group] }).users.get('jsmith')?.groups).toEqual([6000, 6001]);
  });

  it('are not taken for one another', () => {
    const users = ['Straße', 'Strasse', '\u0131', 'i'].map((cn, n) =>
      entry(`cn=${cn},dc=x`, { ...numbers, uidNumber: `500${n}`, uid: `u${n}` }),
    );
    const member = ['cn=Straße,dc=x', 'cn=i,dc=x', 'no DN', ''];
    const group = entry('cn=chem,dc=x', { cn: 'chem', gidNumber: '6001', member });
    const people = peopleOf(users, { groups: [group], schema: 'rfc2307bis' });
    const found = [...people.users.values()].filter(({ groups }) => groups.includes(6001));
    expect(found.map(({ name }) => name)).toEqual(['u0', 'u3']);
  });
});

it('a directory without any of the users of several namespaces is not believed', () => {
  const plan = (...owners: string[]): ReturnType<typeof planNamespaces> => {
    const namespaces = owners.map((owner) => ({
      ...{ apiVersion: 'v1', kind: 'Namespace' },
      metadata: { name: `user-${owner}`, annotations: { 'openondemand.org/owner': owner } },
    }));
    return planNamespaces(namespaces, ad({ sAMAccountName: 'JSmith' }), 1, new Map());
  };
  const check =
    (...owners: string[]) =>
    (): void =>
      assertEnoughEntries(
        ad({ sAMAccountName: 'JSmith' }),
        {},
        namespaceLosses(plan(...owners)),
        80,
      );
  expect(check('a', 'b')).toThrow('no longer has the users of 2 of 2 namespaces');
  expect(check('a')).not.toThrow();
  expect(check('a', 'b', 'jsmith')).not.toThrow();
});
