import type { PamAction, PamLine } from './pam-lines.ts';

/** Modules that accept or refuse; all others succeed in a login that succeeds. */
const deciding = new Set(
  [
    'access debug exec group listfile localuser nologin python rootok script sepermit shells',
    'succeed_if time userdb usertype wheel',
  ].flatMap((line) => line.split(' ').map((name) => `pam_${name}.so`)),
);

/** Which lines of a stack run, and which lines skip others. */
export interface PamReach {
  readonly reached: ReadonlySet<PamLine>;
  /** The line that ends the stack before this line, or skips it. */
  readonly passedBy: (line: PamLine) => PamLine | undefined;
}

/** As in libpam. -1: a line failed, so the stack cannot end with success. 0: no line has counted. 1: success so far. */
type Impression = -1 | 0 | 1;

/**
 * Walks the lines of one type as `_pam_dispatch_aux` of libpam does, for every combination of the modules' usual
 * results.
 *
 * @param isMissing Whether the module of a line does not exist.
 */
export function pamReach(
  lines: readonly PamLine[],
  isMissing: (line: PamLine) => boolean,
): PamReach {
  const reached = new Set<PamLine>();
  const jumps: { readonly from: number; readonly to: number }[] = [];
  const seen = new Set<string>();
  const open: [number, Impression][] = [[0, 0]];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const [at, impression] = place;
    const line = lines[at];
    if (line === undefined || seen.has(`${at} ${impression}`)) continue;
    seen.add(`${at} ${impression}`);
    reached.add(line);
    for (const action of answers(line, isMissing(line))) {
      const after = impressionAfter(action, impression);
      const to = nextOf(lines, at, action, after);
      if (to > at + 1) jumps.push({ from: at, to });
      open.push([to, after]);
    }
  }
  return {
    reached,
    passedBy: (line) => {
      const at = lines.indexOf(line);
      const jump = jumps.find(({ from, to }) => from < at && at < to);
      return jump && lines[jump.from];
    },
  };
}

function answers({ module, control }: PamLine, missing: boolean): PamAction[] {
  const name = module.split('/').at(-1) ?? '';
  if (missing) return [control.missing];
  if (name === 'pam_deny.so') return [control.failure];
  return deciding.has(name) ? [control.success, control.failure] : [control.success];
}

function impressionAfter(action: PamAction, before: Impression): Impression {
  if (action === 'bad' || action === 'die') return -1;
  if ((action === 'ok' || action === 'done') && before === 0) return 1;
  return before;
}

function nextOf(
  lines: readonly PamLine[],
  at: number,
  action: PamAction,
  impression: Impression,
): number {
  const level = lines[at]?.level ?? 0;
  const levelAt = (index: number) => lines[index]?.level ?? -1;
  let last = at;
  if (action === 'die' || (action === 'done' && impression === 1))
    while (levelAt(last + 1) >= level) last += 1;
  if (typeof action === 'number')
    for (let left = action; left > 0 && levelAt(last + 1) >= level; left -= 1) {
      last += 1;
      // A substack counts as one line.
      while (levelAt(last + 1) > level) last += 1;
    }
  return last + 1;
}
