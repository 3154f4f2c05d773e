import { afterAll, beforeAll, expect, it } from 'vitest';
import { transferToolsDir } from '../../../src/config/schema/bundled-transfer-argv.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';

const own = '/etc/berth-own';
const link = '/etc/berth-login';
let host: SshHost;

beforeAll(async () => {
  host = await SshHost.start({
    ...{ mode: 'forced', users: { ada: [] } },
    sshd: `Match User ada\n  ForceCommand ${link}`,
  });
  const script = [
    `cp -rL ${installDirectory} ${own}`,
    `mkdir -p ${own}/files`,
    `touch ${own}/files/here`,
    `chmod -R go=rX ${own}`,
    `ln -s ${own}/shell/login ${link}`,
  ].join(' && ');
  const { exitCode, stderr } = await host.asRoot(['sh', '-c', script]);
  if (exitCode !== 0) throw new Error(stderr);
});
afterAll(() => host.stop());

it('given a ForceCommand that names a link to the login, sessions have the installed transfer programs', async () => {
  const { stdout, stderr } = await host.ssh('ada', [`id -un; ls ${transferToolsDir}`]);
  expect(stdout.toString(), stderr).toContain('ada\n');
  expect(stdout.toString(), stderr).toContain('here');
});
