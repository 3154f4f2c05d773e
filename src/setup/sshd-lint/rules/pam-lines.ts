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

/** What PAM does next; a number skips that many lines. */
export type PamAction = 'ignore' | 'bad' | 'die' | 'ok' | 'done' | 'reset' | number;

/** The control of a line of pam.conf(5), by the module's result. */
interface PamControl {
  readonly success: PamAction;
  /** For any failure. */
  readonly failure: PamAction;
  /** If the module does not exist. */
  readonly missing: PamAction;
}

const keywords = new Map<string, PamControl>([
  ['required', { success: 'ok', failure: 'bad', missing: 'bad' }],
  ['requisite', { success: 'ok', failure: 'die', missing: 'die' }],
  ['sufficient', { success: 'done', failure: 'ignore', missing: 'ignore' }],
  ['optional', { success: 'ok', failure: 'ignore', missing: 'ignore' }],
]);

const values = new Set(
  [
    'success open_err symbol_err service_err system_err buf_err perm_denied auth_err cred_insufficient',
    'authinfo_unavail user_unknown maxtries new_authtok_reqd acct_expired session_err cred_unavail',
    'cred_expired cred_err no_module_data conv_err authtok_err authtok_recover_err authtok_lock_busy',
    'authtok_disable_aging try_again ignore abort authtok_expired module_unknown bad_item conv_again',
    'incomplete default',
  ].flatMap((line) => line.split(' ')),
);

const actions: readonly string[] = ['ignore', 'bad', 'die', 'ok', 'done', 'reset'];

/**
 * Parses `required`, `[success=1 default=ignore]`, and so on.
 *
 * @returns undefined if PAM would log "bad control" and treat the line as failed.
 */
export function parsePamControl(text: string): PamControl | undefined {
  const [, list] = /^\[([\s\S]*)\]$/.exec(text) ?? [];
  if (list === undefined) return keywords.get(text.toLowerCase());
  const given = new Map<string, PamAction>();
  // Blanks around `=` are allowed.
  const pairs = list
    .trim()
    .replaceAll(/\s*=\s*/g, '=')
    .split(/\s+/);
  for (const pair of pairs) {
    const [value = '', action = ''] = pair.split('=');
    if (!values.has(value) || !(actions.includes(action) || /^\d+$/.test(action))) return undefined;
    given.set(value, /^\d+$/.test(action) ? Number(action) : (action as PamAction));
  }
  const otherwise = given.get('default') ?? 'bad';
  return {
    success: given.get('success') ?? otherwise,
    failure: otherwise,
    missing: given.get('module_unknown') ?? otherwise,
  };
}
