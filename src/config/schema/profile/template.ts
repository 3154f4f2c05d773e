import { nearestKey } from '../nearest-key.ts';

/** Variables of templates. Variables of the environment are not available: users control them. */
export const templateVariables = ['USER', 'UID', 'GID', 'HOME'] as const;
export type TemplateVariable = (typeof templateVariables)[number];

export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: TemplateVariable }
  | { readonly kind: 'fault'; readonly problem: string };

const pieces = /\$\$|\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([^}]*)\}|\$|[^$]+/g;

/** Splits a template: `$NAME` or `${NAME}` is a variable, `$$` a dollar sign, everything else text. */
export function templateParts(template: string): TemplatePart[] {
  return [...template.matchAll(pieces)].map(([piece, bare, braced]): TemplatePart => {
    if (!piece.startsWith('$')) return { kind: 'text', text: piece };
    if (piece === '$$') return { kind: 'text', text: '$' };
    const name = bare ?? braced;
    if (name === undefined) {
      return { kind: 'fault', problem: 'has a $ without a name: write $$ for a dollar sign' };
    }
    const known = templateVariables.find((variable) => variable === name);
    if (known !== undefined) return { kind: 'variable', name: known };
    return { kind: 'fault', problem: unknownVariable(name) };
  });
}

/** @returns Why the text is not a template, as the end of a sentence; undefined if it is one. */
export function templateProblem(template: string): string | undefined {
  for (const part of templateParts(template)) if (part.kind === 'fault') return part.problem;
  return undefined;
}

function unknownVariable(name: string): string {
  const near = nearestKey(name, templateVariables);
  const help =
    near === undefined
      ? `use ${templateVariables.map((known) => `$${known}`).join(', ')}`
      : `did you mean $${near}?`;
  return `contains the unknown variable $${name.slice(0, 40)}: ${help}`;
}
