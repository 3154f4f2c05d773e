import { expect } from 'vitest';
import type { ClientResult } from '../../../src/companions/verify/run-client.ts';
import { waitFor } from '../../rig/wait-for.ts';
import type { SystemdHost } from '../../rig/systemd/systemd-host.ts';

/** The linter reports a mail server as long as it runs commands of a user's files, and no longer. */
export async function mailRunsCommands(
  host: SystemdHost,
  {
    runtime,
    ranOnHost,
    lint,
  }: {
    readonly runtime: string;
    readonly ranOnHost: () => Promise<string>;
    readonly lint: () => Promise<ClientResult>;
  },
): Promise<void> {
  // Without a listener: the network is the machine's.
  await host.script(`export DEBIAN_FRONTEND=noninteractive
  apt-get install --quiet --yes --no-install-recommends postfix >/dev/null 2>&1
  postfix stop || true
  postconf -M# smtp/inet; postconf -e myhostname=initnode mydestination=initnode mailbox_size_limit=0; postfix start`);
  const send = () => host.script('echo hello | sendmail alice@initnode; postqueue -f');
  const codes = async () => (await lint()).stdout.toString();
  await send();
  await waitFor(
    { what: 'the command of ~/.forward', timeoutMs: 60_000, everyMs: 100 },
    async () => (await ranOnHost()).includes('forward') || undefined,
  );
  expect(await codes()).toContain('mail-runs-home-commands');
  await host.script(`rm ${runtime}/canary-forward
    postconf -e allow_mail_to_commands=alias mailbox_command=/usr/bin/procmail`);
  expect(await codes()).toContain('mail-runs-home-commands');
  await host.script('postconf -e mailbox_command=; postfix reload');
  expect(await codes()).not.toContain('mail-runs-home-commands');
}
