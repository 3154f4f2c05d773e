/** Whether a shell in passwd is Berth's login program, which no image contains. */
export function isLoginShell(shell: string): boolean {
  return shell.endsWith('/shell/login');
}
