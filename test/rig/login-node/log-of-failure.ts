import { afterEach } from 'vitest';
import { runningHosts } from './running-hosts.ts';

/**
 * Adds what syslog says about the session to the message of a failed test: users are shown a session number only,
 * and the host's log is gone when the test run ends.
 */
afterEach(async ({ task }) => {
  for (const error of task.result?.errors ?? []) {
    const shown = `${error.message}\n${error.diff ?? ''}`;
    const sessions = new Set(
      Array.from(shown.matchAll(/session (\S+@[a-z0-9-]+)/g), ([, id]) => id),
    );
    for (const host of sessions.size === 0 ? [] : runningHosts) {
      const lines = (await host.log()).split('\n');
      const told = lines.filter((line) => [...sessions].some((id) => line.includes(String(id))));
      error.message += `\nsyslog of ${host.name}:\n${told.join('\n')}`;
    }
  }
});
