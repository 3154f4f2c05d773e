import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { motd } from '../host/host-files.ts';
import { SshHost, type SshHostOptions } from '../host/ssh-host.ts';
import { Client } from './client.ts';
import { runCase, suite } from './suite.ts';

/** A login node, and what else has to end with it. */
export interface StartedHost {
  readonly host: SshHost;
  stop(): Promise<void>;
}

export async function startHost(options: SshHostOptions): Promise<StartedHost> {
  const host = await SshHost.start(options);
  return { host, stop: () => host.stop() };
}

/**
 * The whole suite against a login node of its own.
 *
 * @param explained names of cases that must fail there, each with the reason: what is not Berth's to change
 */
export function conformance(
  title: string,
  start: () => Promise<StartedHost>,
  explained: Readonly<Record<string, string>> = {},
): void {
  describe(title, () => {
    let started: StartedHost;
    let client: Client;

    beforeAll(async () => {
      started = await start();
      const { host } = started;
      client = await Client.at({
        ...{ host: '127.0.0.1', port: host.port, user: 'ada', key: host.key('ada') },
        motd: motd.trim(),
      });
    });
    afterAll(async () => {
      await client.end();
      await started.stop();
    });

    for (const [theme, cases] of Object.entries(suite)) {
      describe(theme, () => {
        for (const each of cases) {
          const reason = explained[each.name];
          const name = reason === undefined ? each.name : `not: ${each.name} (${reason})`;
          it(name, { timeout: 300_000 }, async ({ skip }) => {
            const { result, detail } = await runCase(client, each);
            if (result === 'skip') skip(detail);
            if (reason === undefined) expect(detail).toBe('');
            else expect(result).toBe('fail');
          });
        }
      });
    }
  });
}
