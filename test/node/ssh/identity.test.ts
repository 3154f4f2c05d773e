import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homesDirectory } from '../../rig/site/directories.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';

const projects = `${homesDirectory}/projects`;
const teams = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`team${n}`, 62000 + n]));
const staff = ['site-staff', 'project', 'data.read', 'wide'] as const;

/** `lena`'s groups are mapped, in a container for all her connections; the others have a container per connection. */
const directory = {
  groups: { 'site-staff': 61000, project: 61001, 'data.read': 61002, wide: 61003, ...teams },
  users: {
    lena: { uid: 60001, groups: staff },
    karl: { uid: 60002, groups: staff },
    many: { uid: 60003, groups: ['site-staff', ...Object.keys(teams)] as const },
    'Hans.Maier': { uid: 60004, groups: staff, shell: '/etc/shell-of-site' },
    'eva@site.test': { uid: 60005, groups: staff },
    '70008': { uid: 60006, groups: staff },
  },
} as const;
const mounts = [{ source: '$HOME' }, { source: projects }];

describe.each(['forced', 'login-shell'] as const)('identity of LDAP users, %s', (mode) => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode, users: {}, ldap: directory },
      sshYml: { rules: [{ users: ['lena'], profile: 'warm' }, { profile: 'base' }] },
      profiles: {
        base: { ...standardProfile, mounts },
        warm: { ...standardProfile, mounts, lifetime: 'user', grace: '60s' },
      },
    });
    await onHost('ln', '-s', '/bin/bash', '/etc/shell-of-site');
    for (const group of ['project', 'wide'])
      await onHost('install', '-d', '-m', '2770', '-g', group, `${projects}/${group}`);
    // Above the default base there is no room for UIDs as high as these.
    const apply = [`${installDirectory}/berth`, 'subid', 'apply', '--base', '524288'];
    await onHost(...apply, '--groups', 'lena', 'many');
    await onHost(...apply, 'karl');
    // By number, as on a site with tens of thousands of users.
    for (const file of ['subuid', 'subgid'])
      for (const uid of [60004, 60005, 60006])
        await onHost('sh', '-c', `echo ${uid}:$((${uid} * 65536)):65536 >>/etc/${file}`);
  });
  afterAll(() => host.stop());

  async function onHost(...argv: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await host.asRoot(argv);
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
    return stdout.toString().trim();
  }

  /** Output of a command inside, with its errors. */
  async function inside(user: string, command: string, ...options: string[]): Promise<string> {
    const { stdout, stderr } = await host.ssh(user, [...options, command]);
    return `${stdout.toString()}${stderr}`.replaceAll('\r', '').trim();
  }

  it('is shown by id(1) with the same names and numbers, given mapped groups', async () => {
    expect(await inside('lena', 'id')).toBe(await onHost('id', 'lena'));
    expect(await inside('lena', 'getent group project; chgrp data.read ~ && ls -ldn ~')).toMatch(
      /^project:x:61001:\ndrwx------ .* 60001 61002 /,
    );
    expect(await onHost('stat', '-c', '%u %g', `${homesDirectory}/lena`)).toBe('60001 61002');
  });

  it('has the user, home and shell inside, in passwd and in the environment', async () => {
    for (const user of ['lena', 'karl'] as const) {
      const command = 'whoami; getent passwd $USER; echo ~ $HOME $SHELL $LOGNAME';
      const home = `${homesDirectory}/${user}`;
      expect(await inside(user, command)).toBe(
        [
          user,
          `${user}:*:${directory.users[user].uid}:61000::${home}:/bin/bash`,
          `${home} ${home} /bin/bash ${user}`,
        ].join('\n'),
      );
    }
  });

  it('has all groups effective on mounted file systems, even if they are not mapped', async () => {
    const directory = `${projects}/project`;
    expect(await inside('karl', 'id -u; id -g; id -Gn')).toBe('60002\n61000\nsite-staff nogroup');
    await host.asUser('karl', ['touch', `${directory}/from-outside`]);
    for (const user of ['karl', 'lena', 'Hans.Maier'])
      expect(await inside(user, `touch ${directory}/of-${user}`)).toBe('');
    expect(await onHost('sh', '-c', `cd ${directory}; stat -c '%n %u %g %a' *`)).toBe(
      [
        'from-outside 60002 61001 644',
        ...['of-Hans.Maier 60004', 'of-karl 60002', 'of-lena 60001'].map((e) => `${e} 61001 644`),
      ].join('\n'),
    );
    expect(await inside('karl', `cd ${directory}; stat -c '%n %U %u' from-outside of-karl`)).toBe(
      'from-outside karl 60002\nof-karl karl 60002',
    );
    expect(await inside('many', `ls ${directory}`)).toContain('Permission denied');
  });

  it('is the same for a user in 40 groups', async () => {
    expect(await inside('many', 'id')).toBe(await onHost('id', 'many'));
  });

  it.each(['Hans.Maier', 'eva@site.test', '70008'] as const)(
    'works for the user name %s',
    async (user) => {
      const { uid } = directory.users[user];
      const home = `${homesDirectory}/${user}`;
      // The image does not have the shell of one of them.
      expect(
        await inside(user, 'id -un; id -u; getent passwd $(id -u); echo $SHELL; pwd; stat -c %U .'),
      ).toBe(
        [
          ...[user, uid, `${user}:*:${uid}:61000::${home}:/bin/bash`],
          ...['/bin/bash', home, user],
        ].join('\n'),
      );
    },
  );

  it("has the groups of each connection's login, not those of the container's start", async () => {
    const write = `touch ${projects}/wide/mine && echo written`;
    expect(await inside('lena', write)).toBe('written');
    const container = await inside('lena', 'cat /proc/1/stat | cut -d" " -f22');
    await host.ldap.removeFromGroup('lena', 'wide');
    expect(await inside('lena', 'cat /proc/1/stat | cut -d" " -f22')).toBe(container);
    expect(await inside('lena', 'id -Gn')).toBe('site-staff project data.read');
    expect(await inside('lena', write)).toContain('Permission denied');
    expect(await inside('lena', `id -Gn; ${write}`, '-tt')).toMatch(
      /^site-staff project data.read\n.*Permission denied/,
    );
  });

  it("has the login's umask", async () => {
    expect(await inside('karl', 'umask')).toBe('0022');
    await onHost('sh', '-c', 'echo session optional pam_umask.so umask=0027 >>/etc/pam.d/sshd');
    expect(await inside('karl', 'umask; touch new; stat -c %a new')).toBe('0027\n640');
    const { stdout } = await host.ssh('karl', ['-tt'], { input: 'umask; exit\n' });
    expect(stdout.toString()).toContain('0027\r\n');
    const port = ['-P', String(host.port)];
    const destination = [...host.clientOptions('karl'), ...port, 'karl@127.0.0.1'];
    await run('sftp', ['-b', '-', ...destination], {
      input: `put ${host.directory}/known_hosts sent\n`,
    });
    expect(await onHost('stat', '-c', '%a', `${homesDirectory}/karl/sent`)).toBe('640');
  });
});
