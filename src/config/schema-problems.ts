import type * as z from 'zod/mini';
import { nearestKey } from './nearest-key.ts';

type Path = readonly PropertyKey[];

/**
 * What zod found, one sentence a problem, each with the path as the admin wrote it
 * (`clusters.prod.alow_cidrs`). Values are not repeated: one may be a secret in the wrong place.
 *
 * @param error of a parse with `reportInput`, to tell a missing value from a wrong one
 * @param root the schema that was applied, to know the keys at each path
 * @param prefix where in the file the checked value stands
 */
export function schemaProblems(
  error: z.core.$ZodError,
  root: z.core.$ZodType,
  prefix: Path,
): string[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys(root, issue.path);
      return issue.keys.map((key) => unknownKey([...prefix, ...issue.path, key], key, known));
    }
    return [`${written([...prefix, ...issue.path])} ${complaint(issue)}`];
  });
}

function complaint(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    return `must be ${typeNames[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') {
    return `must be one of ${issue.values.map(String).join(', ')}`;
  }
  // Our own words, as given in the schema.
  return issue.message;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text (put it in quotes)',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function unknownKey(path: Path, key: string, known: readonly string[]): string {
  const near = nearestKey(key, known);
  const help = near === undefined ? `known are ${known.join(', ')}` : `is ${near} meant?`;
  return `${written(path)} is unknown: ${help}`;
}

function written(path: Path): string {
  return path.length === 0 ? 'the file' : path.map(String).join('.');
}

/** The keys that the schema has at this path. */
function knownKeys(root: z.core.$ZodType, path: Path): string[] {
  let at: z.core.$ZodType | undefined = root;
  for (const step of [...path, undefined]) {
    const def: Definition = unwrapped(at);
    if (step === undefined) return Object.keys(def.shape ?? {});
    at = def.shape?.[String(step)] ?? def.valueType ?? def.element;
  }
  return [];
}

interface Definition {
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly innerType?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
}

/** Without the `optional` and `nullable` around it. */
function unwrapped(schema: z.core.$ZodType | undefined): Definition {
  let def = (schema?._zod.def ?? {}) as Definition;
  while (def.innerType !== undefined) def = def.innerType._zod.def as Definition;
  return def;
}
