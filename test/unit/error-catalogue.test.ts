import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import {
  catalogue,
  checkCatalogue,
  exitStatuses,
  exitText,
} from '../../src/system/errors/catalogue.ts';
import { BerthError } from '../../src/system/errors/berth-error.ts';
import { exitClasses, warningCodes, type ErrorCode } from '../../src/system/errors/error-codes.ts';
import { singleFile } from '../../scripts/single-file.ts';

const root = new URL('../../', import.meta.url).pathname;
const entries = catalogue.flatMap(({ entries: ofDomain }) => ofDomain);
const codes = new Set<string>(entries.map(({ code }) => code));

interface Use {
  readonly code: string;
  /** `exit` beside the code, where both are literals. */
  readonly exit?: string;
}

/** The string literals of the programs, with the exit class of `new BerthError(code, message, { exit })`. */
function literalsOfPrograms(): Use[] {
  const uses: Use[] = [];
  const files = globSync('{src,hooks,shell}/**/*.ts', { cwd: root });
  for (const file of files.filter((name) => !name.startsWith('src/system/errors/error-codes'))) {
    const source = ts.createSourceFile(
      file,
      readFileSync(root + file, 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteral(node)) uses.push({ code: node.text, ...exitBeside(node) });
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  for (const file of globSync('etc/jupyterhub/berth_jupyterhub/*.py', { cwd: root }))
    for (const [, code = ''] of readFileSync(root + file, 'utf8').matchAll(/"([a-z-]+)"/g))
      uses.push({ code });
  return uses;
}

function exitBeside(code: ts.StringLiteral): { exit?: string } {
  const { parent } = code;
  const details =
    ts.isNewExpression(parent) && parent.arguments?.[0] === code ? parent.arguments[2] : undefined;
  if (details === undefined || !ts.isObjectLiteralExpression(details)) return {};
  const exit = details.properties.find(
    (property) => property.name?.getText() === 'exit' && ts.isPropertyAssignment(property),
  );
  const text = /^'(\w+)'/.exec(
    (exit as ts.PropertyAssignment | undefined)?.initializer.getText() ?? '',
  );
  return text?.[1] === undefined ? {} : { exit: text[1] };
}

describe('the catalogue of error codes', () => {
  const uses = literalsOfPrograms();

  it('has each code once', () => {
    const all: string[] = [...Object.keys(exitClasses), ...warningCodes];
    expect(entries.map(({ code }) => code).sort()).toEqual(all.sort());
    expect(readFileSync(`${root}docs/errors.md`, 'utf8').match(/^### /gm)).toHaveLength(all.length);
  });

  it('names the exit status of each code', () => {
    expect(entries.filter(({ code, exit }) => exit !== exitText(exitStatuses(code)))).toEqual([]);
  });

  it('has only codes that the programs use', () => {
    const used = new Set(uses.map(({ code }) => code));
    expect([...codes].filter((code) => !used.has(code))).toEqual([]);
  });

  it('is asked for another exit status only where the code has several', () => {
    const classes = new Map<string, string | readonly string[]>(Object.entries(exitClasses));
    const withExit = uses.filter(({ exit }) => exit !== undefined);
    expect(withExit).not.toEqual([]);
    // The first class of a code is not written beside it.
    expect(
      withExit.filter(({ code, exit = '' }) => !classes.get(code)?.slice(1).includes(exit)),
    ).toEqual([]);
  });

  it('explains each code and each check in sentences', () => {
    const checks = checkCatalogue.flatMap(({ entries: ofDomain }) => ofDomain);
    const poor = [...entries, ...checks].filter(({ what, why, next }) =>
      [what, why, next].some((text) => !/^\S[^\n]{10,}[.)]$/.test(text)),
    );
    expect(poor).toEqual([]);
  });

  it('has the next step of an error without a hint', () => {
    const errors = entries.filter(({ code }) => code in exitClasses);
    const hints = errors.map(({ code }) => new BerthError(code as ErrorCode, 'no').hint);
    expect(hints).toEqual(errors.map(({ next }) => next));
    expect(new BerthError('usage', 'no', { hint: 'Give a name.' }).hint).toBe('Give a name.');
  });

  it('has the next steps in a built program, with the paths of its installation', async () => {
    const define = { BERTH_PREFIX: '"/opt/berth"' };
    const { text } = await singleFile('src/system/errors/next-step.ts', { banner: '', define });
    // With globals of its own: a program has its own clock.
    const run = compileFunction(text.replace(/^load\(/m, 'return load('), [
      'require',
      'globalThis',
    ]) as (require: NodeJS.Require, globals: object) => { nextStep: (code: string) => string };
    const { nextStep } = run(createRequire(import.meta.url), {});
    expect(
      entries.filter(
        ({ code, next }) => nextStep(code) !== next.replaceAll('/usr/lib/berth/', '/opt/berth/'),
      ),
    ).toEqual([]);
    expect(nextStep('api-forbidden')).toContain('/opt/berth/share/etc/kubernetes');
  });

  it('has each code that a docstring names after @throws', () => {
    const unknown = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
      codesInDocstrings(readFileSync(root + file, 'utf8'))
        .filter((code) => !codes.has(code))
        .map((code) => `${file}: ${code}`),
    );
    expect(unknown).toEqual([]);
  });

  it('is bundled with `berth` only, not with what runs at a login', async () => {
    const entryPoints = globSync('{hooks,shell}/*.ts', { cwd: root });
    expect(await bundledWith(['src/cli/berth.ts'])).toContain('src/system/errors/catalogue.ts');
    const others = await bundledWith(entryPoints);
    expect(others).toContain('src/system/errors/berth-error.ts');
    expect(others).not.toContain('src/system/errors/catalogue.ts');
  });
});

/** Codes of two words or more, which no other name in backticks looks like. */
function codesInDocstrings(source: string): string[] {
  const throws = [...source.matchAll(/^ *\* @throws(?:.|\n(?! *\*(?:\/| @)))*/gm)];
  return throws.flatMap(([text]) =>
    [...text.matchAll(/`([a-z]+(?:-[a-z0-9]+)+)`/g)].map(([, code = '']) => code),
  );
}

/** The sources in the bundle of these entries. */
async function bundledWith(entryPoints: readonly string[]): Promise<string[]> {
  const { metafile } = await build({
    ...{ entryPoints: [...entryPoints], absWorkingDir: root, outdir: 'out' },
    ...{ bundle: true, splitting: true, write: false, metafile: true },
    ...{ platform: 'node', format: 'esm', packages: 'external', logLevel: 'error' },
  });
  return Object.keys(metafile.inputs);
}
