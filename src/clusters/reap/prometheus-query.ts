import { BerthError, messageOf } from '../../system/errors/berth-error.ts';

/** A Prometheus with kube-state-metrics, queried as k8-namespace-reaper does. */
export interface PrometheusQuery {
  readonly url: string;
  /** Further label matchers, if it monitors several clusters: `cluster="prod"`. */
  readonly matchers: string;
  readonly timeoutMs: number;
}

interface QueryAnswer {
  readonly status?: string;
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly data?: {
    readonly resultType?: string;
    readonly result?: readonly { readonly metric?: { readonly namespace?: string } }[];
  };
}

/**
 * Namespaces in which a container was seen within the last `seconds`. An answer with warnings is
 * incomplete, and an empty one means that Prometheus has no data on pods: both are errors.
 *
 * @throws BerthError `prometheus-unreachable`, `prometheus-refused`, `prometheus-incomplete`
 */
export async function namespacesWithPods(
  { url, matchers, timeoutMs }: PrometheusQuery,
  seconds: number,
): Promise<ReadonlySet<string>> {
  const query = `max(max_over_time(timestamp(kube_pod_container_info{${matchers}})[${Math.ceil(seconds)}s:5m])) by (namespace)`;
  const at = `${url.replace(/\/$/, '')}/api/v1/query`;
  const { status, body } = await ask(
    `${at}?${new URLSearchParams({ query }).toString()}`,
    url,
    timeoutMs,
  );
  if (status !== 200 || body.status !== 'success' || body.data?.resultType !== 'vector')
    throw new BerthError(
      'prometheus-refused',
      `Prometheus at ${url}: it answered ${status}: ${body.error ?? 'no vector'}`,
    );
  if ((body.warnings ?? []).length > 0)
    throw incomplete(url, `it warns: ${(body.warnings ?? []).join('; ')}`);
  const names = (body.data.result ?? []).flatMap(({ metric }) => metric?.namespace ?? []);
  if (names.length === 0) throw incomplete(url, 'it has no data on pods');
  return new Set(names);
}

async function ask(
  target: string,
  url: string,
  timeoutMs: number,
): Promise<{ readonly status: number; readonly body: QueryAnswer }> {
  try {
    const answer = await fetch(target, {
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: answer.status, body: (await answer.json()) as QueryAnswer };
  } catch (cause) {
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    throw new BerthError(
      'prometheus-unreachable',
      `querying Prometheus at ${url}: ${messageOf(inner)}`,
      {
        cause,
      },
    );
  }
}

function incomplete(url: string, what: string): BerthError {
  return new BerthError('prometheus-incomplete', `Prometheus at ${url}: ${what}`);
}
