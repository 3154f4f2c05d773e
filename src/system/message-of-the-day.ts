import { existsSync, readFileSync, writeSync } from 'node:fs';

/** As pam_motd(8) and sshd have it; the first is made by the host's scripts. */
const files = ['/run/motd.dynamic', '/etc/motd'];

/**
 * Shows the host's message of the day, unless the user wants none (~/.hushlogin). sshd does so itself,
 * but not where a command is forced.
 */
export function showMessageOfTheDay(home: string): void {
  if (existsSync(`${home}/.hushlogin`)) return;
  for (const file of files) {
    try {
      writeSync(1, readFileSync(file));
    } catch {
      // There is none; or the terminal is gone, which the session itself will see.
    }
  }
}
