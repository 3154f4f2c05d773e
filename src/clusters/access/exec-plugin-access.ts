import { existsSync } from 'node:fs';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { dirname, join, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js';
import { z } from 'zod';
import { BerthError, expectErrno } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import type { ContextAccess } from '../../kube/admin-kubeconfig.ts';
import type { ApiServer } from '../../kube/api-server.ts';
import { assertOwnProgram } from '../../system/config-files.ts';
import { startProgram } from '../../system/run-program.ts';
import { trustedCas } from '../../system/trusted-cas.ts';
import { beforeDeadline } from './for-each-cluster.ts';

/** `exec` of a user entry, as far as it is run (client-go, `clientcmd/api/v1`, `ExecConfig`). */
const execConfig = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});

/**
 * Adds to a context what only kubectl and @kubernetes/client-node can use: the credential of an exec
 * plugin, and an agent for `proxy-url`. For admin commands: it takes about 70 ms to load, and runs a
 * program.
 *
 * @param file the kubeconfig
 * @throws {BerthError} `kubeconfig-plugin-failed`; the `config-…` errors for a plugin that others
 *   can write
 */
export async function apiServerByKubeConfig(
  { server, user, exec, proxyUrl }: ContextAccess,
  file: string,
  deadline: AbortSignal,
): Promise<ApiServer> {
  // client-go runs no plugin if there is a token.
  const issued =
    exec === undefined || server.token !== undefined
      ? {}
      : await pluginCredential(exec, user, file, deadline);
  const proven = { ...server, ...issued };
  if (proxyUrl === undefined) return proven;
  const agent = await proxyAgent(proven, proxyUrl);
  return agent === undefined ? proven : { ...proven, agent };
}

async function proxyAgent(
  { url, ca, tlsServerName, clientCertificate, ...server }: ApiServer,
  proxyUrl: string,
): Promise<HttpsAgent | undefined> {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'cluster',
      server: url,
      proxyUrl,
      skipTLSVerify: server.insecureSkipTlsVerify === true,
      caData: base64([trustedCas(ca)].flat().join('\n')),
      tlsServerName,
    },
    {
      name: 'user',
      ...(clientCertificate && {
        certData: base64(clientCertificate.cert),
        keyData: base64(clientCertificate.key),
      }),
    },
  );
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  if (!(options.agent instanceof HttpsAgent)) return undefined;
  // Otherwise NODE_TLS_REJECT_UNAUTHORIZED would decide.
  Object.assign(options.agent.options, {
    rejectUnauthorized: server.insecureSkipTlsVerify !== true,
  });
  return options.agent;
}

/** Runs the plugin as client-go does: with `KUBERNETES_EXEC_INFO`, and its path relative to the kubeconfig. */
async function pluginCredential(
  exec: unknown,
  name: string,
  file: string,
  deadline: AbortSignal,
): Promise<Pick<ApiServer, 'token' | 'clientCertificate'>> {
  const { success, data } = execConfig.safeParse(exec);
  if (!success) throw pluginFailed(name, file, 'its entry needs apiVersion, command, args and env');
  const { apiVersion, args, env } = data;
  const command = programPath(data.command, file);
  if (command === undefined)
    throw pluginFailed(name, file, `${data.command} is not in ${searchPath.join(', ')}`);
  assertOwnProgram(command, process.geteuid?.() ?? 0);
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  const plugin = {
    command,
    args: args ?? [],
    env: [...(env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  };
  const auth = new ExecAuth();
  // The library itself would run the plugin without a time limit.
  Reflect.set(auth, 'execFn', spawnUntil(deadline));
  const headers: Record<string, string> = {};
  const options: RequestOptions = { headers };
  try {
    const applied = auth.applyAuthentication({ name, exec: plugin }, options);
    await beforeDeadline(applied, { signal: deadline });
  } catch (cause) {
    throw pluginFailed(
      name,
      file,
      deadline.aborted ? 'it did not end before the deadline' : reasonOf(cause),
    );
  }
  const token = /^Bearer (\S+)$/.exec(headers.Authorization ?? '')?.[1];
  const { cert, key } = options;
  if (typeof cert === 'string' && typeof key === 'string')
    return { clientCertificate: { cert, key }, token };
  if (token === undefined)
    throw pluginFailed(name, file, 'it printed neither a token nor a client certificate');
  return { token };
}

/** The same on a terminal and in a timer, whatever PATH is. */
const searchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

function programPath(command: string, file: string): string | undefined {
  if (command.includes('/')) return resolve(dirname(file), command);
  return searchPath.map((directory) => join(directory, command)).find((path) => existsSync(path));
}

/** Nothing that the plugin printed: it may be a token, and timers write errors to the journal. */
function reasonOf(cause: unknown): string {
  if (cause instanceof SyntaxError || cause instanceof TypeError)
    return 'it printed no ExecCredential';
  return cause instanceof Error && 'code' in cause ? cause.message : 'it exited with an error';
}

/** Starts a program as a process group, which is killed at the deadline. */
function spawnUntil(deadline: AbortSignal) {
  return (command: string, args: readonly string[], { env }: { env: NodeJS.ProcessEnv }) => {
    const child = startProgram(command, args, {
      env,
      cwd: undefined,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const kill = (): void => {
      // A process that left the group may hold them open.
      child.stdout.destroy();
      child.stderr.destroy();
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        // All processes of the group have ended.
        expectErrno(error, 'ESRCH');
      }
    };
    if (deadline.aborted) kill();
    else deadline.addEventListener('abort', kill, { once: true });
    child.on('close', () => deadline.removeEventListener('abort', kill));
    return child;
  };
}

function pluginFailed(user: string, file: string, reason: string): BerthError {
  const said = escapeControl(reason.trim()).slice(0, 300);
  return new BerthError(
    'kubeconfig-plugin-failed',
    `${file}: the credential plugin of user ${user} failed: ${said}`,
    {
      hint: `Run as root: \`kubectl --kubeconfig ${file} auth whoami\`. A plugin that needs a terminal or a browser must log in there first.`,
      fields: { file },
    },
  );
}
