import * as z from 'zod/mini';
import { durationBetween } from './duration-schema.ts';
import { namespaceName } from './object-name.ts';

const text = z.string().check(z.minLength(1, 'must not be empty'));
const path = z.string().check(z.regex(/^\/[^\0\n]*$/, 'must be an absolute path'));
const attribute = z
  .string()
  .check(z.regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'must be the name of an attribute, without options'));
const namespace = z.string().check(z.regex(namespaceName, 'must be the name of a namespace'));

/** Keys of a ConfigMap begin with it. */
const keyPrefix = z
  .string()
  .check(z.regex(/^[-._A-Za-z0-9]{0,200}$/, 'must have letters, digits, `-`, `_` and `.` only'));

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
  page_size: z.optional(
    z.int().check(z.minimum(1, 'must be 1 or more'), z.maximum(100_000, 'must be 100000 or less')),
  ),
  keep_percent: z.optional(
    z.int().check(z.minimum(0, 'must be 0 or more'), z.maximum(100, 'must be 100 or less')),
  ),
  minimum_gid: z.optional(
    z
      .int()
      .check(
        z.minimum(1, "must be 1 or more: group 0 is root's"),
        z.maximum(4_294_967_294, 'must be 4294967294 or less'),
      ),
  ),
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
    z.strictObject({
      namespace: z.optional(namespace),
      user_prefix: z.optional(keyPrefix),
      maps: z.optional(z.array(maps).check(z.minLength(1, 'must name at least one'))),
    }),
  ),
});

export type LdapOptions = z.output<typeof ldapSchema>;
export type ConfigMapKind = z.output<typeof maps>;
