import { type PamControl, parsePamControl } from './pam-control.ts';

export interface PamPlace {
  readonly file: string;
  readonly line: number;
}

/** A line of pam.d(5) that runs a module. */
export interface PamLine extends PamPlace {
  /** `auth`, `account`, `password` or `session`, without the `-` of an optional module. */
  readonly type: string;
  readonly control: PamControl;
  /** Whether it begins with `-`: the module may be missing. */
  readonly optional: boolean;
  readonly module: string;
  readonly args: readonly string[];
  /** How many substacks contain it. */
  readonly level: number;
}

export interface PamInclude extends PamPlace {
  readonly include: string;
  /** Only lines of this type are included; undefined for `@include`, which includes all. */
  readonly type?: string;
  /** The end of a substack does not end the stack around it. */
  readonly substack: boolean;
}

/** A line that PAM cannot parse as it was meant. */
export interface PamFault extends PamPlace {
  readonly text: string;
  readonly fault: string;
}

export type PamEntry = Omit<PamLine, 'level'> | PamInclude | PamFault;

const types: readonly string[] = ['auth', 'account', 'password', 'session'];

/** Parses a file of /etc/pam.d: `@include FILE`, `type include FILE` and module lines. */
export function parsePam(text: string, file: string): PamEntry[] {
  return joinedLines(text).flatMap(({ line, text: whole }): PamEntry[] => {
    const bare = whole.replace(/#.*$/, '').trim();
    if (bare === '') return [];
    return [{ file, line, ...entryOf(bare) }];
  });
}

/** Joins lines that end with a backslash; the first line's number is used. */
function joinedLines(text: string): { readonly line: number; readonly text: string }[] {
  const lines: { line: number; text: string }[] = [];
  let open: { line: number; text: string } | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const current = open ?? { line: index + 1, text: '' };
    const goesOn = raw.endsWith('\\');
    current.text += goesOn ? `${raw.slice(0, -1)} ` : raw;
    if (open === undefined) lines.push(current);
    open = goesOn ? current : undefined;
  }
  return lines;
}

type Entry<One> = One extends PamPlace ? Omit<One, keyof PamPlace> : never;

function entryOf(bare: string): Entry<PamEntry> {
  const fault = (why: string) => ({ text: bare, fault: why });
  const [first = '', ...rest] = wordsOf(bare);
  if (first === '@include') {
    const [include] = rest;
    return include === undefined ? fault('the file name is missing') : { include, substack: false };
  }
  const [control, module, ...args] = rest;
  const optional = first.startsWith('-');
  const type = (optional ? first.slice(1) : first).toLowerCase();
  if (!types.includes(type)) return fault(`PAM has no type ${first}, only ${types.join(', ')}`);
  if (control === undefined || module === undefined)
    return fault('it needs a type, a control and a module');
  const keyword = control.toLowerCase();
  if (keyword === 'include' || keyword === 'substack')
    return { include: module, type, substack: keyword === 'substack' };
  const parsed = parsePamControl(control);
  if (parsed === undefined)
    return fault(`PAM has no control ${control}, and treats the line as failed`);
  return { type, control: parsed, optional, module, args };
}

/** Splits at blanks; `[…]` is one argument and may contain blanks. A control keeps its brackets. */
function wordsOf(bare: string): string[] {
  return [...bare.matchAll(/\[(?:[^\]\\]|\\.)*\]|\S+/g)].map(([word], index) =>
    index > 1 ? word.replace(/^\[([\s\S]*)\]$/, '$1').replaceAll('\\]', ']') : word,
  );
}
