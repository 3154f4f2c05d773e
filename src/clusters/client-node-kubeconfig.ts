import { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { z } from 'zod';
import { BerthError } from '../errors.ts';
import { escapeControl } from '../log.ts';
import type { ContextAccess } from '../reconcile/admin-kubeconfig.ts';
import type { ApiServer } from '../reconcile/api-server.ts';
import { assertOwnProgram } from '../system/config-files.ts';

/** A plugin that waits for longer waits for a person whom it does not reach. In seconds. */
const longestPlugin = 30;

/** `exec` of a user entry, as far as it is run (client-go, `clientcmd/api/v1`, `ExecConfig`). */
const execConfig = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});

/**
 * What kubectl makes of an exec plugin and of `proxy-url`, by the library's `KubeConfig`. For admin
 * commands: it takes about 100 ms to load, and runs a program.
 *
 * Added is what client-go does and the library does not: `KUBERNETES_EXEC_INFO`, a command relative to
 * the kubeconfig, and an end for a plugin that hangs.
 *
 * @param file the kubeconfig
 * @throws {BerthError} `kubeconfig-plugin-failed`; the `config-…` errors for a plugin that others
 *   could have written
 */
export async function apiServerByKubeConfig(
  { server, user: name, exec, proxyUrl }: ContextAccess,
  file: string,
  deadline: AbortSignal,
): Promise<ApiServer> {
  const { url, ca, tlsServerName, clientCertificate, token } = server;
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'cluster',
      server: url,
      skipTLSVerify: server.insecureSkipTlsVerify === true,
      ...(ca === undefined ? {} : { caData: base64(ca) }),
      ...(tlsServerName === undefined ? {} : { tlsServerName }),
      ...(proxyUrl === undefined ? {} : { proxyUrl }),
    },
    {
      name,
      ...(token === undefined ? {} : { token }),
      // client-go asks no plugin where there is a token.
      ...(exec === undefined || token !== undefined ? {} : { exec: pluginOf(exec, name, file) }),
      ...(clientCertificate === undefined
        ? {}
        : { certData: base64(clientCertificate.cert), keyData: base64(clientCertificate.key) }),
    },
  );
  const options: RequestOptions = {};
  try {
    await Promise.race([config.applyToHTTPSOptions(options), passed(deadline)]);
  } catch (cause) {
    // A parser's message would quote what was printed, which may be a token.
    const unreadable = cause instanceof SyntaxError || cause instanceof TypeError;
    const said =
      cause instanceof Error && !unreadable ? cause.message : 'it printed no ExecCredential';
    throw pluginFailed(name, file, said);
  }
  const { authorization } = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([key, value]) => [key.toLowerCase(), value]),
  );
  const [cert, key] = [options.cert, options.key].map(pem);
  const issued = /^Bearer (\S+)$/.exec(String(authorization))?.[1];
  const proves = cert !== undefined && key !== undefined;
  if (issued === undefined && !proves)
    throw pluginFailed(name, file, 'it printed neither a token nor a client certificate');
  return {
    ...server,
    ...(issued === undefined ? {} : { token: issued }),
    ...(proves ? { clientCertificate: { cert, key } } : {}),
    ...(proxyUrl !== undefined && options.agent instanceof Agent ? { agent: options.agent } : {}),
  };
}

function pem(value: unknown): string | undefined {
  return typeof value === 'string' || Buffer.isBuffer(value) ? value.toString() : undefined;
}

/** The library's entry for the plugin, with what client-go adds to it. */
function pluginOf(exec: unknown, user: string, file: string): object {
  const { success, data } = execConfig.safeParse(exec);
  if (!success) throw pluginFailed(user, file, 'its entry needs apiVersion, command, args and env');
  const { apiVersion, command, args, env } = data;
  const path = command.includes('/') ? resolve(dirname(file), command) : command;
  if (path.includes('/')) assertOwnProgram(path, process.geteuid?.() ?? 0);
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  return {
    command: 'timeout',
    args: ['--kill-after=1', String(longestPlugin), path, ...(args ?? [])],
    env: [...(env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  };
}

function passed(deadline: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const over = (): void => reject(new Error('it printed nothing before the deadline'));
    if (deadline.aborted) over();
    else deadline.addEventListener('abort', over, { once: true });
  });
}

function pluginFailed(user: string, file: string, reason: string): BerthError {
  const said = escapeControl(reason.trim()).slice(0, 300);
  return new BerthError(`${file}: the credential plugin of user ${user} failed: ${said}`, {
    code: 'kubeconfig-plugin-failed',
    exit: 'unavailable',
    hint: `Run as root: kubectl --kubeconfig ${file} auth whoami. A plugin that needs a terminal or a browser must log in there first.`,
    fields: { file },
  });
}
