import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../free-ports.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { HttpProgram } from './http-program.ts';

/** What Prometheus answers for one series: now, or over time as [seconds since the epoch, number]. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** Debian's Prometheus on loopback, with its data in `directory`/data. */
export class Prometheus {
  readonly #program: HttpProgram;

  private constructor(program: HttpProgram) {
    this.#program = program;
  }

  /** @param config prometheus.yml */
  static async start(directory: string, config: object = { global: {} }): Promise<Prometheus> {
    await ensurePackages(['prometheus']);
    const file = join(directory, 'prometheus.yml');
    await writeFile(file, stringify(config));
    const { port } = await freePorts(['port']);
    const argv = [
      ...['prometheus', `--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`],
      ...[`--storage.tsdb.path=${join(directory, 'data')}`, '--storage.tsdb.retention.time=10y'],
    ];
    return new Prometheus(await HttpProgram.start(argv, `http://127.0.0.1:${port}`, '/-/ready'));
  }

  get url(): string {
    return this.#program.url;
  }

  /** @throws Error with Prometheus's if the expression is wrong */
  query(expr: string): Promise<readonly Sample[]> {
    return this.#ask('query', { query: expr });
  }

  /** @param times seconds */
  range(
    expr: string,
    times: { readonly start: number; readonly end: number; readonly step: number },
  ): Promise<readonly Sample[]> {
    return this.#ask('query_range', { query: expr, ...times });
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  async #ask(what: string, parameters: object): Promise<readonly Sample[]> {
    const body = new URLSearchParams(
      Object.entries(parameters).map(([key, value]): [string, string] => [key, String(value)]),
    );
    const answer = await fetch(`${this.url}/api/v1/${what}`, { method: 'POST', body });
    const { data, error } = (await answer.json()) as {
      readonly data?: { readonly result: readonly Sample[] };
      readonly error?: string;
    };
    if (data === undefined)
      throw new Error(`${body.get('query') ?? ''}: ${error ?? answer.status}`);
    return data.result;
  }
}
