import * as z from 'zod/mini';
import { matching, optionalKeys, path, text, wholeNumber } from './schema-parts.ts';
import { durationBetween } from './duration-schema.ts';
import { namespaceName } from './object-name.ts';

const attribute = matching(
  /^[A-Za-z][A-Za-z0-9-]*$/,
  'must be the name of an attribute, without options',
);
const namespace = matching(namespaceName, 'must be the name of a namespace');

/** Keys of a ConfigMap begin with it. */
const keyPrefix = matching(
  /^[-._A-Za-z0-9]{0,200}$/,
  'must have letters, digits, `-`, `_` and `.` only',
);

/** Bases, scope and filter of a search. */
const search = {
  base: z.union([text, z.array(text).check(z.minLength(1, 'must name at least one'))], {
    error: ({ input }) =>
      input === undefined ? undefined : 'must be a DN, or a list of one or more',
  }),
  scope: z.optional(z.enum(['sub', 'one'])),
  filter: z.optional(text),
};

/** The `mappers` of OSC's k8-ldap-configmap. */
const maps = z.enum([
  'user-uid',
  'user-gid',
  'user-groups',
  'user-all-groups',
  'user-gids',
  'user-home',
]);

/** The section `ldap` of berth.yml; docs/ldap-sync.md describes each key. */
export const ldapSchema = z.strictObject({
  url: text,
  start_tls: z.optional(z.boolean()),
  ca_file: z.optional(path),
  bind_dn: z.optional(text),
  bind_password_file: z.optional(path),
  timeout: z.optional(durationBetween('100ms', '10m')),
  page_size: z.optional(wholeNumber(1, 100_000)),
  keep_percent: z.optional(wholeNumber(0, 100)),
  minimum_gid: z.optional(wholeNumber(1, 4_294_967_294, "must be 1 or more: group 0 is root's")),
  users: z.strictObject({
    ...search,
    name: z.optional(attribute),
    uid: z.optional(attribute),
    gid: z.optional(attribute),
    home: z.optional(attribute),
  }),
  groups: z.strictObject({
    ...search,
    schema: z.optional(z.enum(['rfc2307', 'rfc2307bis', 'memberof'])),
    name: z.optional(attribute),
    gid: z.optional(attribute),
    member: z.optional(attribute),
  }),
  namespace_selector: z.optional(text),
  config_maps: z.optional(
    optionalKeys({
      namespace,
      user_prefix: keyPrefix,
      maps: z.array(maps).check(z.minLength(1, 'must name at least one')),
    }),
  ),
});

export type LdapOptions = z.output<typeof ldapSchema>;
export type ConfigMapKind = z.output<typeof maps>;
