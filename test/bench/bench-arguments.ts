import { parseArgs } from 'node:util';

export interface BenchArguments {
  readonly parts: readonly string[];
  /** `--check`: fail if a figure is worse than the saved one. */
  readonly check: boolean;
  /** `--save`: replace the saved figures of these parts. */
  readonly save: boolean;
}

interface BenchCommand {
  /** The npm script. */
  readonly command: string;
  /** What it measures: one sentence. */
  readonly about: string;
  /** Names of all parts. */
  readonly known: readonly string[];
  /** The file or directory of `--save`, with whose figures `--check` compares. */
  readonly saved: string;
  readonly hasCheck: boolean;
}

const flag = { type: 'boolean' } as const;

/** Runs a benchmark with the arguments of its command line, or prints help, or what is wrong with them. @returns the exit status */
export async function withBenchArguments(
  bench: BenchCommand,
  run: (given: BenchArguments) => Promise<number>,
): Promise<number> {
  let given: BenchArguments | undefined;
  try {
    given = parsed(bench);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage(bench)}`);
    return 64;
  }
  if (given !== undefined) return run(given);
  process.stdout.write(usage(bench));
  return 0;
}

/** @returns undefined for `--help` @throws Error */
function parsed({ known, hasCheck }: BenchCommand): BenchArguments | undefined {
  const options = { help: flag, save: flag, ...(hasCheck ? { check: flag } : {}) };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}`);
  if (values.help === true) return undefined;
  if (values.check === true && values.save === true)
    throw new Error('--check compares with the saved figures, and --save replaces them');
  return {
    parts: positionals.length === 0 ? known : positionals,
    check: values.check === true,
    save: values.save === true,
  };
}

function usage({ command, about, known, saved, hasCheck }: BenchCommand): string {
  const check =
    '\n  --check  exit with status 1 if a figure is worse than the saved one by more than both runs vary';
  return `npm run ${command} -- [PART …] ${hasCheck ? '[--check | --save]' : '[--save]'}

${about} Without a part, all of them, one after the other:
${known.join(' ')}
${hasCheck ? check : ''}
  --save   replace the figures of these parts in ${saved}

  npm run ${command} -- ${known[0] ?? ''} --save
`;
}
