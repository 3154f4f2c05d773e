import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensurePackages } from '../rig/site/packages.ts';
import { soak } from '../rig/soak.ts';
import { motd } from '../rig/node/host-files.ts';
import { SshHost, type SshHostOptions } from '../rig/node/ssh-host.ts';
import type { Case } from './case.ts';
import { Client } from './client.ts';
import { runCase, suite } from './suite.ts';

/** A login node, with a function that ends it and what it needs. */
export interface StartedHost {
  readonly host: SshHost;
  stop(): Promise<void>;
}

export async function startHost(options: SshHostOptions): Promise<StartedHost> {
  const host = await SshHost.start(options);
  return { host, stop: () => host.stop() };
}

export interface ConformanceOptions {
  readonly start: () => Promise<StartedHost>;
  /** The users, and how their sessions differ; they run side by side. */
  readonly users: Readonly<Record<string, string>>;
  /** Which user gets the first case. It differs by suite, so that each case runs with each kind of session. */
  readonly first?: number;
  /** Names of cases that must fail there, with the reason why Berth cannot change that. */
  readonly explained?: Readonly<Record<string, string>>;
}

/**
 * Runs the suite against a login node: each case once, as one of the users in turn. With `npm run test:soak` each user
 * runs each case.
 */
export function conformance(
  title: string,
  { start, users, first = 0, explained = {} }: ConformanceOptions,
): void {
  const all = Object.values(suite).flat();
  for (const name of Object.keys(explained))
    if (!all.some((each) => each.name === name)) throw new Error(`no case is called ${name}`);
  describe(title, () => {
    let started: StartedHost;
    beforeAll(async () => {
      await ensurePackages(all.flatMap(({ packages = [] }) => packages));
      started = await start();
    }, 600_000);
    afterAll(() => started.stop());

    const names = Object.keys(users);
    for (const [index, user] of names.entries()) {
      // Side by side with the other users. The cases of one user share a home, so they run in turn.
      describe.concurrent(`${user}, ${users[user] ?? ''}`, () => {
        let client: Client;
        beforeAll(async () => {
          const { host } = started;
          client = await Client.at({
            ...{ host: '127.0.0.1', port: host.port, user, key: host.key(user) },
            motd: motd.trim(),
          });
        });
        afterAll(() => client.end());

        let turn = first;
        for (const [theme, cases] of Object.entries(suite)) {
          const mine = cases.filter(() => turn++ % names.length === index || soak);
          describe(theme, { concurrent: false }, () => {
            for (const each of mine) test(each, explained[each.name], () => client);
          });
        }
      });
    }
  });
}

function test(each: Case, reason: string | undefined, client: () => Client): void {
  const name = reason === undefined ? each.name : `not: ${each.name} (${reason})`;
  it(name, { concurrent: false, timeout: 300_000 }, async () => {
    const { result, detail } = await runCase(client(), each);
    // These hosts have everything that the cases need, so a skipped case is a failure.
    if (reason === undefined) expect([result, detail]).toEqual(['pass', '']);
    else expect([result, detail]).toEqual(['fail', expect.not.stringMatching(/^not done within/)]);
  });
}
