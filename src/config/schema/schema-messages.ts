import * as z from 'zod/mini';
import { nearestKey } from './nearest-key.ts';
import { type ProblemMessage, writtenPath } from './config-error.ts';

type Path = readonly PropertyKey[];

/**
 * The problems that zod found, each as a sentence with the path as the admin wrote it
 * (`clusters.prod.alow_cidrs`). Values are not repeated: one may be a secret in the wrong place.
 *
 * @param error of a parse with `reportInput`, which distinguishes a missing value from a wrong one
 * @param root the schema that was applied, which knows the keys at each path
 * @param prefix the path of the checked value in the file
 */
export function schemaMessages(
  error: z.core.$ZodError,
  root: z.core.$ZodType,
  prefix: Path,
): ProblemMessage[] {
  return error.issues.flatMap((issue): ProblemMessage[] => {
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      const known = Object.keys(definitionOf(schemaAt(root, issue.path)).shape ?? {});
      return issue.keys.map((key) => {
        const its = [...path, key];
        return { path: its, atKey: true, text: unknownKey(its, key, known) };
      });
    }
    return [{ path, text: `${written(path)} ${complaint(issue, root)}` }];
  });
}

function complaint(issue: z.core.$ZodIssue, root: z.core.$ZodType): string {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing';
    const type = typeNames[issue.expected] ?? issue.expected;
    return issue.expected === 'string' ? asText(issue, root) : `must be ${type}`;
  }
  if (issue.code === 'invalid_value') {
    if (issue.input === undefined) return 'is missing';
    return `must be one of ${issue.values.map(String).join(', ')}`;
  }
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message;
  // The schema's own message.
  return issue.message;
}

/** Suggests quotes only if the quoted value is valid: neither `30` nor `"30"` is a time. */
function asText({ input, path }: z.core.$ZodIssue, root: z.core.$ZodType): string {
  const schema = schemaAt(root, path);
  const isPlain = typeof input === 'number' || typeof input === 'boolean';
  if (schema === undefined || !isPlain) return 'must be a string';
  const { error } = z.safeParse(schema, String(input));
  const [issue] = error?.issues ?? [];
  return issue === undefined ? 'must be a string (put it in quotes)' : complaint(issue, root);
}

const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function unknownKey(path: Path, key: string, known: readonly string[]): string {
  const near = nearestKey(key, known);
  const help = near === undefined ? `known keys: ${known.join(', ')}` : `did you mean ${near}?`;
  return `${written(path)} is unknown: ${help}`;
}

function written(path: Path): string {
  return path.length === 0 ? 'the file' : writtenPath(path);
}

/** The schema of the value at this path. */
function schemaAt(root: z.core.$ZodType, path: Path): z.core.$ZodType | undefined {
  let at: z.core.$ZodType | undefined = root;
  for (const step of path) {
    const def: Definition = definitionOf(at);
    at = def.shape?.[String(step)] ?? def.valueType ?? def.element;
  }
  return at;
}

interface Definition {
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly innerType?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
}

/** Removes `optional` and `nullable` around a schema. */
function definitionOf(schema: z.core.$ZodType | undefined): Definition {
  let def = (schema?._zod.def ?? {}) as Definition;
  while (def.innerType !== undefined) def = def.innerType._zod.def as Definition;
  return def;
}
