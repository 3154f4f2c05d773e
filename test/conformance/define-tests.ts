import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensurePackages } from '../rig/site/debian-packages.ts';
import { soak } from '../rig/soak.ts';
import { motd } from '../rig/login-node/host-files.ts';
import type { SshServer } from '../rig/login-node/live-session.ts';
import { SshHost, type SshHostOptions } from '../rig/login-node/ssh-host.ts';
import type { Case } from '../../src/companions/verify/case.ts';
import { Client } from '../../src/companions/verify/client.ts';
import { runCase, conformanceCases, type Subject } from '../../src/companions/verify/suite.ts';

const allSubjects = Object.keys(conformanceCases) as readonly Subject[];

/** A login node or a balancer in front of some, and a function that stops it together with what was started for it. */
export interface StartedHost {
  readonly host: Pick<SshServer, 'address' | 'port'> & { key(user: string): string };
  stop(): Promise<void>;
}

export async function startHost(options: SshHostOptions): Promise<StartedHost> {
  const host = await SshHost.start(options);
  return { host, stop: () => host.stop() };
}

export interface ConformanceOptions {
  readonly start: () => Promise<StartedHost>;
  /** The users who log in, and a description of their sessions. Their cases run concurrently. */
  readonly users: Readonly<Record<string, string>>;
  /** The subjects of the cases to run; default, and with `npm run test:soak`: all. */
  readonly subjects?: readonly Subject[] | undefined;
  /** Index of the user who runs the first case. Test files use different ones, so that each case runs with each lifetime. */
  readonly first?: number;
  /** Names of cases that must fail on this host, each with the reason. */
  readonly expectedFailures?: Readonly<Record<string, string>>;
}

/**
 * Defines a test for each case, run against a login node that is started for them. Each case runs once, and
 * the users take turns. With `npm run test:soak` each user runs each case.
 */
export function conformance(
  title: string,
  { start, users, subjects = allSubjects, first = 0, expectedFailures = {} }: ConformanceOptions,
): void {
  const all: readonly Case[] = Object.values(conformanceCases).flat();
  for (const name of Object.keys(expectedFailures))
    if (!all.some((each) => each.name === name)) throw new Error(`there is no case ${name}`);
  describe(title, () => {
    let started: StartedHost;
    beforeAll(async () => {
      await ensurePackages([
        ...new Set(all.flatMap(({ programs = {} }) => Object.values(programs))),
      ]);
      started = await start();
    }, 600_000);
    afterAll(() => started.stop());

    const names = Object.keys(users);
    for (const [index, user] of names.entries()) {
      // Concurrent with the other users. The cases of one user share a home and run one after the other.
      describe.concurrent(`${user}, ${users[user] ?? ''}`, () => {
        let client: Client;
        beforeAll(async () => {
          const { host } = started;
          client = await Client.connect({
            ...{ host: host.address, port: host.port, user, key: host.key(user) },
            ...{ motd: motd.trim(), path: process.env.PATH ?? '', everyExitCode: soak },
          });
        });
        afterAll(() => client.cleanUp());

        let turn = first;
        for (const subject of soak ? allSubjects : subjects) {
          const cases = conformanceCases[subject];
          const mine = cases.filter(() => turn++ % names.length === index || soak);
          describe(subject, { concurrent: false }, () => {
            for (const each of mine) test(each, expectedFailures[each.name], () => client);
          });
        }
      });
    }
  });
}

function test(each: Case, reason: string | undefined, client: () => Client): void {
  const name = reason === undefined ? each.name : `expected to fail: ${each.name} (${reason})`;
  it(name, { concurrent: false, timeout: 300_000 }, async () => {
    const { result, detail } = await runCase(client(), each);
    // These hosts have all programs that the cases need, so a skipped case is a failure.
    if (reason === undefined) expect([result, detail]).toEqual(['pass', '']);
    else
      expect([result, detail]).toEqual([
        'fail',
        expect.not.stringMatching(/^the case did not finish/),
      ]);
  });
}
