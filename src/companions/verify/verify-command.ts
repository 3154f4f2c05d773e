import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { ServerTrait } from './case.ts';
import { companionCommands } from '../../cli/companions.ts';
import { command } from '../../cli/kit/command.ts';
import { choice, flag, number, outputOption, text } from '../../cli/kit/options.ts';
import type { Terminal } from '../../cli/kit/terminal.ts';
import { withProgress } from '../../cli/kit/progress.ts';

/** `berth verify`: what users do with SSH, tried on any server with the clients of this machine. */
export const verifyCommand = command({
  ...companionCommands.verify,
  positionals: {
    host: {
      type: 'string',
      kind: 'HOST',
      demandOption: true,
      describe: 'Name or address of a login node or balancer, with Berth or without',
    },
  },
  options: {
    user: text('NAME', 'Account to log in as, best one for tests', { demandOption: true }),
    port: number('PORT', 'Port of sshd', { default: 22 }),
    identity: text(
      'file',
      "Private key without a passphrase [default: OpenSSH's own in ~/.ssh: id_ed25519, id_ecdsa or id_rsa]",
    ),
    only: {
      type: 'string',
      array: true,
      requiresArg: true,
      kind: 'TEXT',
      describe: 'Only cases whose subject or name contains this; may be repeated',
    },
    backend: choice(
      ['podman', 'pod', 'slurm'],
      'What sessions run in: its known failures are shown as known, and do not count',
      {},
    ),
    forced: flag('Sessions have a forced command: its known failures are shown as known, too'),
    profile: text(
      'profile',
      "Profile that OpenSSH's clients ask for; the cases of others are skipped",
    ),
    motd: text('TEXT', 'A line of the message of the day; without it, two cases are skipped'),
    output: outputOption,
  },
  examples: [
    ['berth verify login.example.org --user alice', 'Every case, against a plain sshd'],
    [
      'berth verify login.example.org --port 332 --user alice --backend podman',
      "The same for Berth's sessions in containers, on a port of their own",
    ],
    [
      'berth verify login.example.org --user alice --only tunnels --only sftp',
      'Two subjects, for example behind a new balancer',
    ],
    [
      'berth verify login.example.org --user alice -o json',
      'Print JSON for monitoring: .ok, .summary.fail, .cases[].result',
    ],
  ],
  epilogue:
    'Exit status: 0 no case failed, 1 a case failed or the run was interrupted, more than 1 it could not run (sysexits(3)). Nothing is installed; a case is skipped if its client is not here or a program of the session is not there. What it makes in the home is removed; do not work there meanwhile.',
  run: async (args, terminal) => {
    const { host, user, port, motd, profile, backend, forced, only = [] } = args;
    const wrong = [
      ...(host.startsWith('-') ? [`${host}: not a host`] : []),
      ...(user.startsWith('-') ? [`--user ${user}: not a user`] : []),
      ...(Number.isInteger(port) ? [] : [`--port ${port}: not a port`]),
      ...(profile === undefined || /^[a-z0-9-]+$/.test(profile)
        ? []
        : [`--profile ${profile}: not the name of a profile`]),
    ];
    if (wrong.length > 0) throw new BerthError('usage', wrong.join('; '));
    const [{ chosenCases, verifyHost }, { writeVerification }] = await Promise.all([
      import('./verify-host.ts'),
      import('./verification-report.ts'),
    ]);
    const { PATH: path = '/usr/bin:/bin' } = terminal.env;
    const key = args.identity ?? (await ownKey(terminal));
    await access(key, constants.R_OK).catch((cause: unknown) => {
      throw new BerthError('usage', `cannot read the key ${key}`, { cause });
    });
    const cases = chosenCases(only);
    const interruption = new AbortController();
    const interrupt = (): void => interruption.abort();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, interrupt);
    let now = `logging in to ${host}`;
    const { results, left } = await withProgress(
      terminal,
      () => now,
      () =>
        verifyHost({
          target: { host, port, user, key, motd, profile, path },
          cases,
          traits: serverTraits(backend, forced),
          interrupted: interruption.signal,
          onCase: ({ each }, nth) => (now = `${nth} of ${cases.length}: ${each.name}`),
        }),
    );
    const ok = !interruption.signal.aborted && results.every(({ result }) => result !== 'fail');
    writeVerification({ host, port, user, ok, cases: results }, args.output, terminal);
    if (left !== undefined) throw left;
    return ok ? 0 : 1;
  },
});

function serverTraits(backend: ServerTrait | undefined, forced: boolean): readonly ServerTrait[] {
  const own: readonly ServerTrait[] = backend === undefined ? [] : [backend];
  return forced ? [...own, 'forced'] : own;
}

/** The first of OpenSSH's default keys that exists. @throws {BerthError} `usage` if there is none */
async function ownKey({ env }: Terminal): Promise<string> {
  const files = ['id_ed25519', 'id_ecdsa', 'id_rsa'].map((name) =>
    join(env.HOME ?? '/', '.ssh', name),
  );
  for (const file of files) {
    const missing = await access(file).then(
      () => false,
      () => true,
    );
    if (!missing) return file;
  }
  throw new BerthError(
    'usage',
    `no private key is given, and there is none of ${files.join(', ')}`,
    {
      hint: 'Give one that the account accepts: --identity FILE.',
    },
  );
}
