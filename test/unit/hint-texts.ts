import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { type Explanation, explanations } from '../../src/cli/explain/explain-text.ts';

const root = new URL('../..', import.meta.url).pathname;

export interface Text {
  /** FILE:LINE. */
  readonly at: string;
  readonly text: string;
}

export interface HintTexts {
  /** What people are told to do: all in a `hint`, `next` or `closedBy`, and in the arguments of a finding and of `withHint`. */
  readonly hints: readonly Text[];
  /** The same in docs/errors.md, for errors without a hint. */
  readonly nextSteps: readonly Text[];
  /** The same in docs/checks.md and in the table of docs/ssh-sshd.md. */
  readonly otherSteps: readonly Text[];
  /** Paths below /usr/lib/berth: those of the pages, and what `installedPath` is asked for. */
  readonly installed: readonly Text[];
}

/** The texts in the sources, pieces of templates each by itself. */
export function hintTexts(): HintTexts {
  const hints: Text[] = [];
  const installed: Text[] = [];
  for (const file of globSync('src/**/*.ts', { cwd: root }).sort()) {
    const source = ts.createSourceFile(
      file,
      readFileSync(root + file, 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node: ts.Node, inHint: boolean): void => {
      const within = inHint || isHint(node);
      if (isText(node)) {
        const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        const text = { at: `${file}:${line}`, text: node.text };
        if (isInstalledPath(node.parent)) installed.push(text);
        else if (within) hints.push(text);
      }
      ts.forEachChild(node, (child) => visit(child, within));
    };
    ts.forEachChild(source, (child) => visit(child, false));
  }
  const nextSteps = stepsOf('error', 'warning');
  const otherSteps = stepsOf('check', 'finding');
  for (const { at, text } of [...nextSteps, ...otherSteps])
    for (const [, path = ''] of text.matchAll(/\/usr\/lib\/berth\/([\w@*-]+(?:[./][\w@*-]+)*)/g))
      installed.push({ at, text: path });
  return { hints, nextSteps, otherSteps, installed };
}

function stepsOf(...types: readonly Explanation['type'][]): Text[] {
  return explanations(undefined)
    .filter(({ type }) => types.includes(type))
    .map(({ code, next }) => ({ at: `explain ${code}`, text: next }));
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddle(node) ||
    ts.isTemplateTail(node)
  );
}

function isHint(node: ts.Node): boolean {
  const named = /^(?:hint|next|closedBy|install|advice)\w*$/i;
  if (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node))
    return named.test(node.name.getText());
  // Of a finding of the linter, the message is before it.
  const { parent } = node;
  if (ts.isCallExpression(parent) && /\b(?:critical|weakness|advice)\)?$/.test(calledBy(parent)))
    return node === parent.arguments[2];
  return (
    ts.isCallExpression(node) && /^(?:failed|warning|configError|withHint)$/.test(calledBy(node))
  );
}

const calledBy = ({ expression }: ts.CallExpression): string => expression.getText();

const isInstalledPath = (node: ts.Node): boolean =>
  ts.isCallExpression(node) && calledBy(node) === 'installedPath';
