import { existsSync, readFileSync, writeSync } from 'node:fs';

/** The files that pam_motd(8) and sshd show. Scripts of the host create the first one. */
const files = ['/run/motd.dynamic', '/etc/motd'];

/**
 * Shows the host's message of the day unless ~/.hushlogin exists. sshd does so itself, but not with a forced command.
 */
export function showMessageOfTheDay(home: string): void {
  if (existsSync(`${home}/.hushlogin`)) return;
  for (const file of files) {
    try {
      writeSync(1, readFileSync(file));
    } catch {
      // There is none, or the terminal is closed, which the session itself reports.
    }
  }
}
