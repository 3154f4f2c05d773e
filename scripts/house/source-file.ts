import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

/** An import of another file of the project. */
export interface Import {
  /** Absolute path. */
  readonly to: string;
  readonly kind: 'static' | 'type' | 'dynamic';
}

/** What is counted in one file. */
export interface SourceFile {
  readonly path: string;
  readonly lines: number;
  /** Tokens of TypeScript's syntax tree; comments are none. */
  readonly tokens: number;
  /** Spreads of a literal, `...{ … }` and `...[ … ]`: they save lines and nothing else. */
  readonly spreads: number;
  readonly imports: readonly Import[];
}

/** @throws system errors of reading it */
export function readSourceFile(path: string): SourceFile {
  const tree = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const nodes = [...nodesOf(tree, tree)];
  return {
    path,
    lines: tree.getLineStarts().length,
    tokens: nodes.filter((node) => isWrittenToken(node, tree)).length,
    spreads: nodes.filter(isSpreadOfLiteral).length,
    imports: nodes.flatMap((node) => importOf(node, path)),
  };
}

function* nodesOf(node: ts.Node, tree: ts.SourceFile): Iterable<ts.Node> {
  const { FirstJSDocNode, LastJSDocNode } = ts.SyntaxKind;
  if (node.kind >= FirstJSDocNode && node.kind <= LastJSDocNode) return;
  yield node;
  for (const child of node.getChildren(tree)) yield* nodesOf(child, tree);
}

/** The parser also makes tokens that nobody has written, of no width. */
function isWrittenToken(node: ts.Node, tree: ts.SourceFile): boolean {
  return ts.isToken(node) && node.kind !== ts.SyntaxKind.EndOfFileToken && node.getWidth(tree) > 0;
}

function isSpreadOfLiteral(node: ts.Node): boolean {
  return (
    (ts.isSpreadAssignment(node) || ts.isSpreadElement(node)) &&
    (ts.isObjectLiteralExpression(node.expression) || ts.isArrayLiteralExpression(node.expression))
  );
}

function importOf(node: ts.Node, path: string): readonly Import[] {
  const found = specifierOf(node);
  if (!found?.specifier.startsWith('.')) return [];
  return [{ to: resolve(dirname(path), found.specifier), kind: found.kind }];
}

function specifierOf(
  node: ts.Node,
): { readonly specifier: string; readonly kind: Import['kind'] } | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    const { moduleSpecifier: from } = node;
    if (from === undefined || !ts.isStringLiteral(from)) return undefined;
    const isType =
      ts.isImportDeclaration(node) &&
      node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
    return { specifier: from.text, kind: isType ? 'type' : 'static' };
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [from] = node.arguments;
    return from !== undefined && ts.isStringLiteral(from)
      ? { specifier: from.text, kind: 'dynamic' }
      : undefined;
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    const { literal } = node.argument;
    return ts.isStringLiteral(literal) ? { specifier: literal.text, kind: 'static' } : undefined;
  }
  return undefined;
}
