import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditMark } from '../../../rig/site/kubernetes/audit.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { waitFor } from '../../../rig/wait-for.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';

/** Longer than a terminal's line, and with all that a line, a shell and a URI have a use for. */
const awkward = `two\nlines\t'"\`$HOME\\ %41+&=é ${'long '.repeat(1000)}end\n`;

/** Output without the progress that a terminal is shown and that is erased again, when a pod starts slowly. */
const afterProgress = (output: Buffer): string =>
  output.toString().replace(/^(?:\r\u001b\[K(?:your session: [^\r]*)?)+/, '');

describe('what a session in a pod is told', () => {
  const user = 'pod-env';
  const fromClient = 'client-only-7c2e';
  const fromProfile = 'profile-only-90d4';
  const ofCommand = 'command-only-3ba8';
  let site: Site;
  let pods: PodHost;
  beforeAll(async () => {
    site = await openSite();
    pods = await startPodHost(site, {
      ...{ mode: 'forced', users: { [user]: ['tty'] } },
      profile: { environment: { set: { SITE_VALUE: fromProfile, AWKWARD: awkward } } },
    });
  }, 600_000);
  afterAll(() => pods.stop());

  const given = ['-o', `SetEnv=LC_MARK=${fromClient}`];
  const session = (options: readonly string[], command: string) =>
    pods.host.ssh(user, [...options, ...given, command]);

  /** URIs of the execs in the user's pods; an exec is told when it has ended. */
  const execs = (mark: AuditMark): Promise<string[]> =>
    waitFor({ what: 'the exec in the audit log', timeoutMs: 60_000 }, async () => {
      const uris = (await site.audit.since(mark))
        .filter(({ objectRef }) => objectRef?.namespace === `u-${user}`)
        .filter(({ objectRef }) => objectRef?.subresource === 'exec')
        .map(({ requestURI }) => decodeURIComponent(requestURI.replaceAll('+', ' ')));
      return uris.some((uri) => uri.includes('BERTH_CONNECTION=')) ? uris : undefined;
    });

  it.each([
    ['without a terminal', ['-T']],
    ['with a terminal', ['-tt']],
  ])('arrives, but is not in the audit log or the process list, %s', async (_, options) => {
    const mark = await site.audit.mark();
    const look = `for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done 2>/dev/null`;
    const { exitCode, stdout, stderr } = await session(
      options,
      `echo "<$LC_MARK> <$SITE_VALUE>"; echo begin; ${look} # ${ofCommand}`,
    );
    expect([exitCode, stderr.replaceAll(/Connection to .* closed\.\r?\n/g, '')]).toEqual([0, '']);
    const [said = '', lines = ''] = afterProgress(stdout).replaceAll('\r', '').split('begin\n');
    expect(said).toBe(`<${fromClient}> <${fromProfile}>\n`);
    // Positive control: the pod's own process, and ours around the command.
    expect(lines).toContain('sleep infinity');
    expect(lines).toContain('/bin/sh -c ');
    for (const value of [fromClient, fromProfile]) expect(lines).not.toContain(value);
    const uris = (await execs(mark)).join('\n');
    for (const value of [fromClient, fromProfile, ofCommand, 'SITE_VALUE'])
      expect(uris).not.toContain(value);
  });

  it.each([
    ['without a terminal', ['-T'], ''],
    ['with a terminal', ['-tt'], 'stty -opost; '],
  ])('arrives unchanged, %s', async (_, options, before) => {
    const { stdout } = await session(options, `${before}printf '%s' "$AWKWARD"`);
    expect(afterProgress(stdout)).toBe(awkward.replace('$HOME', pods.host.account(user).home));
  });

  it('leaves input to the command, also if it is sent at once', async () => {
    const input = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
    const { stdout } = await pods.host.ssh(user, [...given, 'cat'], { input });
    expect(stdout.equals(input)).toBe(true);
  });

  it("has only the connection's mark and the profile's name of Berth's variables", async () => {
    const names = "env | grep -io '^[^=]*berth_[^=]*' | sort";
    const { stdout } = await session(['-n'], `echo "\${#SITE_VALUE}"; ${names}`);
    const own = 'BERTH_CONNECTION\nBERTH_PROFILE\n';
    expect(stdout.toString()).toBe(`${fromProfile.length}\n${own}`);
  });
});
