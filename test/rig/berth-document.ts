import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'vitest';

const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
const validators = new Map<string, ValidateFunction>();

/** Reads what a command printed with `-o json`, which its published schema must allow. */
export function berthDocument(text: string): unknown {
  const document = JSON.parse(text) as { readonly kind?: string };
  const kind = String(document.kind);
  const validate = validators.get(kind) ?? compiled(kind);
  validate(document);
  const faults = (validate.errors ?? []).map(
    ({ instancePath, message = '', params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  expect(faults, `${kind} against its schema`).toEqual([]);
  return document;
}

function compiled(kind: string): ValidateFunction {
  const file = new URL(`../../etc/schema/output/${kind}.schema.json`, import.meta.url);
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')) as object);
  validators.set(kind, validate);
  return validate;
}
