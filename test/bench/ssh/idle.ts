import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { SshHost } from '../../rig/login-node/ssh-host.ts';
import { printLine } from '../report.ts';
import { sshCommand, type Nodes } from './nodes.ts';

const sessions = 200;

/** Opens 200 idle sessions, and adds up the memory of their processes on the host. */
export async function idle({ warm, plain }: Nodes): Promise<void> {
  for (const [name, node] of Object.entries({ 'plain sshd': plain, berth: warm })) {
    const before = await memory(node);
    const clients = await open(node);
    const after = await memory(node);
    const each = (after.kib - before.kib) / sessions;
    printLine(
      `${name}: ${sessions} sessions, ${(each / 1024).toFixed(1)} MiB and ${((after.count - before.count) / sessions).toFixed(1)} processes each; processes of Node: ${after.node}`,
    );
    for (const client of clients) client.kill();
    await Promise.all(clients.map((client) => once(client, 'exit')));
  }
}

/** Resolves when all sessions have printed something. */
async function open(node: SshHost): Promise<ChildProcess[]> {
  const clients: ChildProcess[] = [];
  for (let batch = 0; batch < sessions / 20; batch += 1) {
    const opened = Array.from({ length: 20 }, () => {
      const { file, args, env } = sshCommand(node, 'echo open; exec sleep 600');
      return spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    });
    await Promise.all(opened.map(({ stdout }) => once(stdout, 'data')));
    clients.push(...opened);
  }
  return clients;
}

/** Proportional set sizes of all processes of the user, including sshd's (smaps_rollup). */
async function memory(node: SshHost): Promise<{ kib: number; count: number; node: number }> {
  const script = `for p in /proc/[0-9]*; do
    c=$(tr '\\0' ' ' <$p/cmdline 2>/dev/null) || continue
    case "$c" in *sshd:*|*sleep\\ 600*|*crun*|*conmon*|*podman*|*fuse-overlayfs*|*node*) ;; *) continue ;; esac
    echo "$(awk '/^Pss:/ {print $2}' $p/smaps_rollup 2>/dev/null) $c"; done`;
  const { stdout } = await node.asRoot(['sh', '-c', script], { timeout: 120_000 });
  const lines = stdout
    .toString()
    .split('\n')
    .filter((line) => /^\d/.test(line));
  return {
    kib: lines.reduce((sum, line) => sum + Number.parseInt(line, 10), 0),
    count: lines.length,
    node: lines.filter((line) => /\/node |shell\/login/.test(line)).length,
  };
}
