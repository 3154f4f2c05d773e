import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const keyText = z.strictObject({
  /** What the key does, in one or two sentences of Markdown. */
  text: z.string(),
  /** The value without the key, as it would be written in the file. */
  default: z.json().optional(),
  /** What happens without the key, where no single value says it. */
  unset: z.string().optional(),
  /** What may be written, where the schema's own checks do not say it. */
  value: z.string().optional(),
  /** The only backend of SSH sessions that uses the key. */
  backend: z.enum(['podman', 'pod']).optional(),
});
export type KeyText = z.output<typeof keyText>;

/** The sections of Berth's configuration, each described in scripts/docs/keys/NAME.yml. */
export type Section =
  | 'berth'
  | 'cluster'
  | 'ldap'
  | 'slurm-accounts'
  | 'ssh'
  | 'profile'
  | 'admission'
  | 'balancer'
  | 'clusters-d';

/** What the keys of a section mean, by their dotted path. */
export function keyTexts(section: Section): ReadonlyMap<string, KeyText> {
  const file = new URL(`keys/${section}.yml`, import.meta.url);
  const texts = z.record(z.string(), keyText).parse(parse(readFileSync(file, 'utf8')));
  return new Map(Object.entries(texts));
}
