import * as z from 'zod/mini';

const oneStar = (text: string): boolean => text.split('*').length <= 2;
const text = z.string().check(z.minLength(1, 'must not be empty'));
const list = <Item extends z.core.$ZodType>(item: Item) =>
  z.array(item).check(z.minLength(1, 'must name at least one'));

/**
 * A name of Slurm that is an argument of sacctmgr(1): no separator, no quote, no dash first. It has at most the 255
 * characters of a tinytext, which slurmdbd's tables have.
 */
export const slurmName = /^[a-z0-9_][a-z0-9_.-]{0,254}$/;
const name = z
  .string()
  .check(
    z.regex(
      slurmName,
      'must have lower-case letters, digits, `_`, `.` and `-` only, and no `-` first',
    ),
  );
const qos = name;
const accountPattern = z.string().check(
  z.refine(
    (pattern) => oneStar(pattern) && slurmName.test(pattern.replace('*', 'a')),
    'must be the name of an account in lower case, with at most one `*`',
  ),
  z.refine((pattern) => pattern !== 'root', "must not be root: it is Slurm's own"),
);
const groupPattern = text.check(z.refine(oneStar, 'must have at most one `*`'));

/** The section `slurm_accounts` of berth.yml; docs/slurm.md describes each key. */
export const slurmAccountsSchema = z.strictObject({
  cluster: name,
  slurm_conf: z.optional(z.string().check(z.regex(/^\/[^\0\n]*$/, 'must be an absolute path'))),
  keep_users: z.optional(list(text.check(z.toLowerCase()))),
  accounts: list(
    z.strictObject({
      account: accountPattern,
      groups: z.optional(list(groupPattern)),
      parent: z.optional(name),
      qos: z.optional(list(qos)),
      default_qos: z.optional(qos),
    }),
  ),
});
