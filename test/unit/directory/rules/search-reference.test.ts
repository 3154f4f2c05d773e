import { expect, it } from 'vitest';
import { leadsToNobody } from '../../../../src/directory/rules/ldap-dn.ts';

it.each([
  'ldap://ForestDnsZones.ad.x/DC=ForestDnsZones,DC=ad,DC=x',
  'ldap://DomainDnsZones.ad.x/DC=DomainDnsZones,DC=ad,DC=x??base',
  'ldaps://ad.x:636/cn=configuration,%20dc=ad,dc=x',
  'ldap://ad.x/CN=Schema,CN=Configuration,DC=ad,DC=x',
])('%s leads to nobody', (uri) => {
  expect(leadsToNobody(uri)).toBe(true);
});

it.each([
  'ldap://child.ad.x/DC=child,DC=ad,DC=x',
  'ldap://ad.x/OU=DomainDnsZones,DC=ad,DC=x',
  'ldap://ad.x/CN=Configuration,OU=People,DC=ad,DC=x',
  'ldap://ad.x/OU=People,CN=Configuration,DC=ad,DC=x',
  'ldap://ad.x/DC=DomainDnsZones+OU=people,DC=ad,DC=x',
  'ldap://ad.x/DC=DomainDnsZones\\,DC=ad\\,DC=x',
  'ldap://ad.x/DC=DomainDnsZones%',
  'ldap://DC=DomainDnsZones,DC=ad/',
  'ldap://ad.x',
  '',
])('%j may lead to people', (uri) => {
  expect(leadsToNobody(uri)).toBe(false);
});
