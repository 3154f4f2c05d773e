/**
 * sshd's PAM file with Berth's hooks at its end, and without the option by which users set the environment of programs that
 * root runs. A file that has the hooks is unchanged otherwise.
 *
 * @param hooks text of etc/pam.d/berth-session, with the paths of this installation
 */
export function pamWithHooks(text: string, hooks: string): string {
  const safe = text.replaceAll(/^(?!\s*#)(.*?)[ \t]+user_readenv=1\b/gm, '$1');
  if (/^(?!\s*#).*hooks\/pam-session open/m.test(safe)) return safe;
  return `${safe.endsWith('\n') || safe === '' ? safe : `${safe}\n`}${hooks}`;
}
