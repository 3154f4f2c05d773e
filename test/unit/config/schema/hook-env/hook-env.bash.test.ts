import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BerthError } from '../../../../../src/system/errors/berth-error.ts';
import { parseHookEnv } from '../../../../../src/config/schema/hook-env/hook-env.ts';
import { repetitions } from '../../../../rig/soak.ts';
import { type CorpusFile, makeCorpus } from './hook-env-corpus.ts';
import { faults } from './hook-env-pieces.ts';

const count = Number(process.env.BERTH_CORPUS_FILES ?? repetitions(500, 3000));
const seed = Number(process.env.BERTH_CORPUS_SEED ?? 20261121);

/**
 * Sources every file in a subshell of one bash without environment, and prints the variables that
 * are new. Only files that Berth accepted come here; PATH is empty all the same.
 */
const program = `
declare -A before
for name in $(compgen -v) name file before status; do before[$name]=1; done
while IFS= read -r file; do
  (
    PATH=/nonexistent
    source "./$file" 2>"$file.err" >&2
    status=$?
    printf '%s\\0status=%s\\0' "$file" "$status"
    compgen -v >"$file.names"
    while read -r name; do
      [[ -n \${before[$name]} || -z \${!name+set} ]] || printf '%s=%s\\0' "$name" "\${!name}"
    done <"$file.names"
    printf 'end\\0'
  )
done
`;

interface Sourced {
  readonly status: number;
  readonly values: ReadonlyMap<string, string>;
}

function sourceWithBash(directory: string, files: readonly string[]): Map<string, Sourced> {
  const output = execFileSync('/bin/bash', ['--norc', '--noprofile', '-c', program], {
    cwd: directory,
    env: {},
    input: files.map((file) => `${file}\n`).join(''),
    maxBuffer: 256 * 1024 * 1024,
  });
  const fields = output.toString('utf8').split('\0');
  const sourced = new Map<string, Sourced>();
  for (let index = 0; index + 1 < fields.length; index += 1) {
    const file = fields[index] ?? '';
    const status = Number(/^status=(\d+)$/.exec(fields[index + 1] ?? '')?.[1]);
    const values = new Map<string, string>();
    for (index += 2; fields[index] !== 'end'; index += 1) {
      const [, name = '', value = ''] = /^(\w+)=([\s\S]*)$/.exec(fields[index] ?? '') ?? [];
      values.set(name, value);
    }
    sourced.set(file, { status, values });
  }
  return sourced;
}

type Outcome = { readonly values: ReadonlyMap<string, string> } | { readonly error: BerthError };

function read(file: CorpusFile): Outcome {
  try {
    return { values: parseHookEnv(file.text, 'hook.env').values };
  } catch (error) {
    if (error instanceof BerthError) return { error };
    throw error;
  }
}

const sorted = (values: ReadonlyMap<string, string>): [string, string][] =>
  [...values].sort(([one], [other]) => (one < other ? -1 : 1));

describe(`hook.env, ${count} generated files beside bash (seed ${seed})`, () => {
  const corpus = makeCorpus(seed, count);
  const outcomes = corpus.map(read);

  it('bash reads every accepted file without an error and with the same values', () => {
    const directory = mkdtempSync(join(tmpdir(), 'hook-env-'));
    try {
      const accepted = corpus.flatMap((file, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined || !('values' in outcome)) return [];
        writeFileSync(join(directory, `${index}`), file.text);
        return [{ name: `${index}`, text: file.text.toString(), values: outcome.values }];
      });
      const sourced = sourceWithBash(
        directory,
        accepted.map(({ name }) => name),
      );
      for (const { name, text, values } of accepted) {
        const bash = sourced.get(name);
        const context = JSON.stringify(text);
        expect(bash?.status, context).toBe(0);
        expect(sorted(values), context).toEqual(sorted(bash?.values ?? new Map()));
      }
      expect(accepted.length).toBeGreaterThan(count / 2);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }, 60_000);

  it('every file with assignments only is accepted', () => {
    const refused = corpus.flatMap((file, index) => {
      const outcome = outcomes[index];
      const wrong = file.expect === 'accepted' && outcome !== undefined && 'error' in outcome;
      return wrong ? [[file.text.toString(), outcome.error.message]] : [];
    });
    expect(refused).toEqual([]);
  });

  it('every planted error is refused with its line', () => {
    let planted = 0;
    for (const [index, file] of corpus.entries()) {
      if (typeof file.expect === 'string') continue;
      planted += 1;
      const outcome = outcomes[index];
      const context = JSON.stringify(file.text.toString());
      const error = outcome !== undefined && 'error' in outcome ? outcome.error : undefined;
      expect(error?.code, context).toMatch(/^hook-env-/);
      expect(error?.exitCode, context).toBe(78);
      expect(error?.fields, context).toEqual({
        file: 'hook.env',
        line: file.expect.rejectedAtLine,
      });
    }
    expect(planted).toBeGreaterThan(count / 20);
  });

  it.each(faults)('refuses %j alone', (fault) => {
    expect(() => parseHookEnv(fault, 'hook.env')).toThrow(/^hook\.env:1: found /);
  });
});
