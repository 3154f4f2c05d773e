import { join } from 'node:path';
import { installDirectory } from '../rig/site/portal.ts';
import { commandAs, homeOf } from '../rig/site/accounts.ts';
import { hookCommand, warmUp } from './logins.ts';
import { runInterleaved, measure, type Command } from './measure.ts';
import { wallRatio } from './measured-ratio.ts';
import type { BenchPart } from './parts.ts';
import { checkBound, table } from './report.ts';

const user = 'bench-later';

export const credentialPlugin: BenchPart = {
  title: 'kube-credential from its cache',
  users: [user],
  async run(bench) {
    await warmUp(bench, undefined);
    await measure(await hookCommand(bench, user)());
    const info = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: bench.site.server } },
    };
    const as = (file: string, args: readonly string[]): Command => {
      const { command, args: argv } = commandAs(user, file, args);
      return {
        file: command,
        args: argv,
        env: {
          PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
          HOME: homeOf(user),
          KUBERNETES_EXEC_INFO: JSON.stringify(info),
        },
      };
    };
    const samples = await runInterleaved(21, {
      credential: () => Promise.resolve(as(join(installDirectory, 'shell/kube-credential'), [])),
      node: () => Promise.resolve(as(join(installDirectory, 'node'), ['-e', '0'])),
    });
    table(samples);
    checkBound(
      'wall time compared with a bare Node start',
      wallRatio(samples.credential, samples.node),
      { atMost: 1.5 },
    );
  },
};
