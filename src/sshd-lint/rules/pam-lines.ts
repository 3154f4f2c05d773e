import { type PamControl, parsePamControl } from './pam-control.ts';

export interface PamPlace {
  readonly file: string;
  readonly line: number;
}

/** A line of pam.d(5) that runs a module, after its includes were put in their place. */
export interface PamLine extends PamPlace {
  /** `auth`, `account`, `password` or `session`, without the `-` of an optional module. */
  readonly type: string;
  readonly control: PamControl;
  /** Begins with `-`: the module may be missing. */
  readonly optional: boolean;
  readonly module: string;
  readonly args: readonly string[];
  /** How many substacks it is in. */
  readonly level: number;
}

export interface PamInclude extends PamPlace {
  readonly include: string;
  /** Only lines of this type are taken; all with `@include`. */
  readonly type?: string;
  /** What ends a substack does not end the stack around it. */
  readonly substack: boolean;
}

/** A line that PAM cannot take as it was meant. */
export interface PamFault extends PamPlace {
  readonly text: string;
  readonly fault: string;
}

export type PamEntry = Omit<PamLine, 'level'> | PamInclude | PamFault;

const types: readonly string[] = ['auth', 'account', 'password', 'session'];

/** Reads a file of /etc/pam.d: `@include FILE`, `type include FILE` and module lines. */
export function parsePam(text: string, file: string): PamEntry[] {
  return joinedLines(text).flatMap(({ line, text: whole }): PamEntry[] => {
    const bare = whole.replace(/#.*$/, '').trim();
    if (bare === '') return [];
    return [{ file, line, ...entryOf(bare) }];
  });
}

/** A backslash at its end goes on in the next line; the first one's number is that of all. */
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
    return include === undefined ? fault('it names no file') : { include, substack: false };
  }
  const [control, module, ...args] = rest;
  const optional = first.startsWith('-');
  const type = (optional ? first.slice(1) : first).toLowerCase();
  if (!types.includes(type)) return fault(`PAM knows no type ${first}, only ${types.join(', ')}`);
  if (control === undefined || module === undefined)
    return fault('it wants a type, a control and a module');
  const word = control.toLowerCase();
  if (word === 'include' || word === 'substack')
    return { include: module, type, substack: word === 'substack' };
  const parsed = parsePamControl(control);
  if (parsed === undefined)
    return fault(`PAM does not know the control ${control}, and takes the line as failed`);
  return { type, control: parsed, optional, module, args };
}

/** Separated by blanks; `[…]` is one word, with blanks in it. A control keeps its brackets. */
function wordsOf(bare: string): string[] {
  return [...bare.matchAll(/\[(?:[^\]\\]|\\.)*\]|\S+/g)].map(([word], index) =>
    index > 1 ? word.replace(/^\[([\s\S]*)\]$/, '$1').replaceAll('\\]', ']') : word,
  );
}
