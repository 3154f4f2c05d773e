import { chmod, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { codeBlocks } from '../../../rig/markdown-pages.ts';
import { InitHost } from '../../../rig/login-node/init-host.ts';
import { LiveCluster } from '../../../rig/site/live-cluster.ts';
import { ensureNode } from '../../../rig/site/kubernetes-node/node.ts';
import { installDirectory } from '../../../rig/site/portal.ts';
import { openSite } from '../../../rig/site/site.ts';

describe('berth init login-node --backend pod', () => {
  let host: InitHost;
  let cluster: LiveCluster;
  let image: string;

  beforeAll(async () => {
    const site = await openSite();
    cluster = new LiveCluster(site);
    image = await (await ensureNode(site)).image('site');
    host = await InitHost.start();
    const kubectl = await copied(site.kubectlPath, 'real-kubectl');
    await writeFile(join(host.host.directory, 'kubectl'), withoutPolicies(kubectl));
    for (const name of ['real-kubectl', 'kubectl'])
      await chmod(join(host.host.directory, name), 0o755);
    await copied(site.adminKubeconfig, 'admin.kubeconfig');
    await host.shell(`mkdir -p /etc/ood /var/lib/berth
      mount -t tmpfs -o mode=0755 tmpfs /etc/ood
      mount -t tmpfs -o mode=0700 tmpfs /var/lib/berth
      cp ${host.host.directory}/admin.kubeconfig /root/admin.kubeconfig
      chmod 0600 /root/admin.kubeconfig`);
  });
  afterAll(async () => {
    await cluster.kubectl(['-n', 'u-alice', 'delete', 'pods', '--all', '--now']);
    await host.stop();
  });

  /** kubectl, but the policies would hold for tests that run meanwhile: it keeps them as a file. */
  const withoutPolicies = (kubectl: string): string => `#!/bin/sh
case "$*" in
  *' apply -f -') exec cat >/root/policies.yaml ;;
  *' get namespace berth-admission-probe') exec test -e /root/policies.yaml ;;
esac
exec ${kubectl} "$@"
`;
  const copied = async (file: string, name: string): Promise<string> => {
    const path = join(host.host.directory, name);
    await copyFile(file, path);
    return path;
  };
  const init = (more = '', ofImage = image) =>
    host.init(
      `login-node --backend pod --image ${ofImage} --user alice --port ${host.port} --mode login-shell
       --start no --yes --kubectl ${host.host.directory}/kubectl ${more}`.replaceAll('\n', ' '),
    );
  const admin = '--cluster prod --namespace-prefix u- --kubeconfig /root/admin.kubeconfig';

  it('needs the cluster, and says which options belong to another backend', async () => {
    const nothing = await init();
    expect(nothing).toMatchObject({ exitCode: 64 });
    expect(nothing.stderr).toContain('there is no default for --cluster, --kubeconfig');
    const pull = await init(`${admin} --pull yes`);
    expect(pull.stderr).toContain(
      "--pull cannot be used with --backend pod: the cluster's nodes pull the image",
    );
  });

  it('prepares the cluster and this host, but gives no shell before a pod has started', async () => {
    const { exitCode, stdout, stderr } = await init(admin, 'localhost/none:1');
    expect(exitCode, stdout + stderr).toBe(1);
    expect(stdout).toMatch(
      /✗ session-start .*the test session of alice failed: .*localhost\/none:1/,
    );
    expect(stdout).toMatch(/^not done: usermod --shell \S+ alice$/m);
    expect((await host.shell('getent passwd alice')).stdout).toContain(':/bin/bash\n');
  });

  it('allows the homes in admission.yml, and installs the policies with it', async () => {
    const parameters = await host.shell('grep -A1 ^host_paths /etc/berth/admission.yml');
    expect(parameters.stdout).toMatch(/^host_paths:\n {2}- \/\S+\/\{user\}\n$/);
    const rendered = await host.shell(`${installDirectory}/berth render policies`);
    expect((await host.shell('cat /root/policies.yaml')).stdout).toBe(rendered.stdout);
    expect(rendered.stdout).toContain(/\S+(?=\{user\})/.exec(parameters.stdout)?.[0]);
  });

  it('ends with a session in a pod, by the same command', { timeout: 180_000 }, async () => {
    const { exitCode, stdout, stderr } = await init(admin);
    expect(exitCode, stdout + stderr).toBe(0);
    // What is done is not done again, and the admin's kubeconfig can be removed.
    expect(stdout).not.toMatch(/^\$ .*(?: apply | token setup )/m);
    expect((await host.shell('cat /etc/berth/berth.yml')).stdout).not.toContain('admin.kubeconfig');
    expect(stdout).toMatch(/✓ session-start +a test session of alice with profile pod took /);
    const session = await host.session(['id -un; hostname']);
    expect(session.stdout.toString(), session.stderr + (await host.host.log())).toMatch(
      /^alice\nberth-pod-/,
    );
  });

  it('writes the files that the page shows', async () => {
    const shown = codeBlocks('docs/ssh-pods.md')
      .filter(({ language }) => language === 'yaml')
      .map(({ text }) => ({
        file: /^# (\S+?),?(?: |$)/m.exec(text)?.[1] ?? '',
        value: parse(text) as object,
      }));
    expect(shown.map(({ file }) => file)).toHaveLength(4);
    for (const { file, value } of shown) {
      const written = await host.shell(`cat ${file}`);
      const own = (text: string): string =>
        text
          .replaceAll(image, 'registry.example.com/hpc/login:9')
          .replaceAll(`${host.host.directory}/kubectl`, '/usr/bin/kubectl')
          .replace(/\S+\/\{user\}/, '/home/{user}')
          .replace(/https:\/\/127[^\s"]*/, 'https://kube.example.com:6443');
      expect(parse(own(written.stdout)), file).toEqual(value);
    }
  });

  it('says on every run how to undo it, and changes nothing the second time', async () => {
    const before = await host.state();
    const { exitCode, stdout, stderr } = await init();
    expect(exitCode, stdout + stderr).toBe(0);
    expect(stdout).toContain('nothing to change');
    expect(await host.state()).toBe(before);
    for (const undo of [
      `${host.host.directory}/kubectl --kubeconfig /root/.kube/config config delete-context berth-hook@prod`,
      'rm /etc/ood/config/clusters.d/prod.yml',
      'rm /etc/berth/ssh.yml',
      'usermod --shell /bin/bash alice',
    ])
      expect(stdout).toContain(`\n  ${undo}\n`);
  });

  it('removes the kubeconfig of an admin that an earlier version recorded', async () => {
    const berthYml = '/etc/berth/berth.yml';
    await host.shell(`cp ${berthYml} /root/berth.yml
      sed -i 's|^      context: berth-hook@prod|      kubeconfig: /root/admin.kubeconfig\\n&|' ${berthYml}
      grep admin.kubeconfig ${berthYml}`);
    const { exitCode, stdout, stderr } = await init(`${admin} --apply yes`);
    expect(exitCode, stdout + stderr).toBe(0);
    expect((await host.shell(`cat ${berthYml}`)).stdout).toBe(
      (await host.shell('cat /root/berth.yml')).stdout,
    );
  });

  it('takes a kubeconfig that has the account already, as on the second login node', async () => {
    await host.shell(`cp /root/.kube/config /root/login.kubeconfig
      rm -r /root/.kube /etc/ood/config /etc/berth/berth.yml`);
    const made = await init(
      '--cluster prod --namespace-prefix u- --apply no --kubeconfig /root/login.kubeconfig',
    );
    expect(made.exitCode, made.stdout + made.stderr).toBe(0);
    expect(made.stdout).not.toMatch(/^run: .*apply -k/m);
    expect((await host.shell('cat /etc/berth/berth.yml')).stdout).toMatch(
      /^ +kubeconfig: \/root\/login\.kubeconfig$/m,
    );
  });
});
