import { describe, expect, it } from 'vitest';
import { firstRdn, normalDn } from '../../../../src/directory/rules/ldap-dn.ts';

describe('two ways to write one name', () => {
  it.each([
    ['uid=anna,ou=people,dc=x', 'UID=Anna, OU=People , DC=X'],
    ['cn=a\\,b,dc=x', 'cn=a\\2Cb,dc=x'],
    ['cn="a,b",dc=x', 'cn=a\\,b,dc=x'],
    ['cn=größe,dc=x', 'cn=gr\\C3\\B6\\C3\\9Fe,dc=x'],
    ['cn=a+sn=b,dc=x', 'sn=b+cn=a,dc=x'],
    ['cn=a  b,dc=x', 'cn=a b,dc=x'],
    ['cn=a\\\\,dc=x', 'cn=a\\5c,dc=x'],
  ])('%s and %s', (one, other) => {
    expect(normalDn(one)).toBeDefined();
    expect(normalDn(one)).toBe(normalDn(other));
  });
});

describe('names that are not one another', () => {
  it.each([
    ['cn=a,cn=b', 'cn=a\\,cn=b'],
    ['uid=anna,dc=x', 'uid=annab,dc=x'],
    ['uid=a+b=c,dc=x', 'uid=a\\+b\\=c,dc=x'],
    ['cn=a,dc=x', 'sn=a,dc=x'],
    ['ou=a,cn=b', 'cn=b,ou=a'],
  ])('%s and %s', (one, other) => {
    expect(normalDn(one)).not.toBe(normalDn(other));
  });

  it.each(['', 'anna', 'cn=a,', '=a', 'cn="a', 'cn=a\\'])('and none at all: %j', (text) => {
    expect(normalDn(text)).toBeUndefined();
  });
});

it('the first part of a name, with what is escaped in it', () => {
  expect(firstRdn('uid=a\\,b+cn=C,dc=x')).toEqual(
    new Map([
      ['uid', 'a,b'],
      ['cn', 'C'],
    ]),
  );
});
