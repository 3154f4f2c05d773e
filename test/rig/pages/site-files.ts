import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const shipped = new URL('../../../etc/berth/profiles/', import.meta.url).pathname;

const sshYml = `rules:
  - { profile: course-day, groups: [course] }
  - { profile: gpu, groups: [gpu-users], on_request: true }
  - { profile: transfer, users: [robot-of-the-archive], ports: [2022] }
  - { profile: pod, on_request: true }
  - { profile: workspace-user }
`;

/** A name that is long for a phone, and what must stay text. */
const news = {
  '2026-11-20-maintenance.md': `# Maintenance on Monday, 30 November

From 8:00 to 12:00 the login nodes are restarted one after the other. Sessions end when their node
is restarted; **jobs of Slurm go on**.

## What you do

- Save your work.
- Connect again; see [the status](status.html).

| node   | time  |
| ------ | ----- |
| login1 | 8:00  |

    ssh ${'very-long-name-of-a-host'.repeat(5)}.example.org

<script>alert(1)</script> [bad](javascript:alert(1)) ![x](http://192.0.2.1/x.png)
`,
  '2026-11-26.md': `# A new image: <b>Python</b> & friends

Python 3.13 is in \`registry.example.com/courses/python:3.13\`. \u001b[31mRed\u001b[0m \u202etext ${'word '.repeat(30)}
`,
  'draft.md': '# Not yet\n',
};

/**
 * Writes a configuration with the shipped profiles, news and metrics.
 *
 * @param now seconds since the epoch, of the metrics
 * @returns options of `berth render pages`
 */
export async function siteFiles(
  directory: string,
  now = Math.floor(Date.now() / 1000),
): Promise<{ readonly args: readonly string[]; readonly news: string; readonly config: string }> {
  const [config, newsDirectory, metrics] = ['config', 'news', 'metrics'].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  await mkdir(join(config, 'profiles'), { recursive: true });
  await mkdir(newsDirectory);
  await mkdir(metrics);
  for (const name of ['course-day', 'gpu', 'transfer', 'pod', 'workspace-user'])
    await cp(join(shipped, `${name}.yml`), join(config, 'profiles', `${name}.yml`));
  await writeFile(join(config, 'ssh.yml'), sshYml);
  for (const [name, text] of Object.entries(news)) await writeFile(join(newsDirectory, name), text);
  await writeFile(
    join(metrics, 'berth.prom'),
    `# TYPE berth_ssh_sessions_open gauge\nberth_ssh_sessions_open 12\nberth_ssh_containers 1\nberth_ssh_reap_last_run_timestamp_seconds ${now}\n`,
  );
  await writeFile(
    join(metrics, 'berth-ldap-sync.prom'),
    `berth_ldap_sync_success{cluster="prod"} 0\nberth_ldap_sync_last_run_timestamp_seconds{cluster="prod"} ${now}\n`,
  );
  await writeFile(
    join(metrics, 'berth-cluster-reap.prom'),
    `berth_cluster_reap_last_run_timestamp_seconds{cluster="prod"} ${now - 7200}\n`,
  );
  const args = ['--config-dir', config, '--news', newsDirectory, '--metrics', metrics];
  return { args: [...args, '--host', 'login.example.org'], news: newsDirectory, config };
}
