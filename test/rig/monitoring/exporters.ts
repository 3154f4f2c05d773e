import { writeFile } from 'node:fs/promises';
import { freePorts } from '../free-ports.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { goPrograms, requiredVersion } from '../site/go-build.ts';
import { HttpProgram } from './http-program.ts';

const module = new URL('kube-state-metrics/', import.meta.url).pathname;
const path = 'k8s.io/kube-state-metrics/v2';

/** Debian's node_exporter, with the files of `textfiles`. */
export async function startNodeExporter(textfiles: string): Promise<HttpProgram> {
  await ensurePackages(['prometheus-node-exporter']);
  const { port } = await freePorts(['port']);
  const argv = [
    ...['prometheus-node-exporter', `--web.listen-address=127.0.0.1:${port}`],
    `--collector.textfile.directory=${textfiles}`,
  ];
  return HttpProgram.start(argv, `http://127.0.0.1:${port}`, '/metrics');
}

/** kube-state-metrics, from the cache directory or built from its Go module. @returns its path */
export async function kubeStateMetrics(): Promise<string> {
  const { program } = await goPrograms({
    name: `kube-state-metrics-${await requiredVersion(module, path)}`,
    module,
    programs: { program: path },
    flags: ['-trimpath', '-ldflags', '-s -w'],
  });
  return program;
}

export async function startKubeStateMetrics(kubeconfig: string): Promise<HttpProgram> {
  const program = await kubeStateMetrics();
  const { port, telemetry } = await freePorts(['port', 'telemetry']);
  const argv = [
    ...[program, '--kubeconfig', kubeconfig, '--host=127.0.0.1', `--port=${port}`],
    ...['--telemetry-host=127.0.0.1', `--telemetry-port=${telemetry}`],
    '--resources=cronjobs,nodes,pods,resourcequotas',
  ];
  return HttpProgram.start(argv, `http://127.0.0.1:${port}`, '/healthz');
}

/** haproxy with one login node, which does not answer. */
export async function startHaproxy(file: string): Promise<HttpProgram> {
  await ensurePackages(['haproxy']);
  const { port, ssh, node } = await freePorts(['port', 'ssh', 'node']);
  const config = `defaults
    timeout connect 1s
    timeout client 5s
    timeout server 5s
listen alpha.pods
    mode tcp
    bind 127.0.0.1:${ssh}
    server login1 127.0.0.1:${node} check inter 100ms fall 1
frontend statistics
    mode http
    bind 127.0.0.1:${port}
    http-request use-service prometheus-exporter if { path /metrics }
`;
  await writeFile(file, config);
  return HttpProgram.start(['haproxy', '-db', '-f', file], `http://127.0.0.1:${port}`, '/metrics');
}
