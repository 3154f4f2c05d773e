/** What PAM does next; a number skips that many lines. */
export type PamAction = 'ignore' | 'bad' | 'die' | 'ok' | 'done' | 'reset' | number;

/** The control of a line of pam.conf(5), by the module's result. */
export interface PamControl {
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
