/** What a family of metrics is, in Prometheus's text format 0.0.4. */
interface FamilyHead {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
}

/** A family with its samples, each `NAME VALUE` or `NAME{LABELS} VALUE`. */
export function familyText({ name, type, help }: FamilyHead, samples: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples, ''].join('\n');
}

/** `cluster="prod"`; what would have to be escaped becomes `_`. */
export function labelText(label: string, value: string): string {
  return `${label}="${value.replace(/["\\\n]/g, '_')}"`;
}

/** The line of a sample up to its value. @param labels as text; empty for none */
export function sampleName(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`;
}
