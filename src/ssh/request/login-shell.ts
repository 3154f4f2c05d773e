/** Whether a shell of passwd is Berth's login, which is a shell of no image. */
export function isLoginShell(shell: string): boolean {
  return shell.endsWith('/shell/login');
}
