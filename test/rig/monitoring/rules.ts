import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const file = new URL('../../../etc/kubernetes/monitoring/rules.yaml', import.meta.url);

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a Prometheus without the operator reads as a file of rules. */
export const ruleGroups = (
  parse(readFileSync(file, 'utf8')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  }
).spec;

export const rules: readonly Rule[] = ruleGroups.groups.flatMap((group) => group.rules);
export const alerts = rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
