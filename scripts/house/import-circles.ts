import type { SourceFile } from './source-file.ts';

/**
 * Circles of imports, `import type` included and dynamic imports left out: the strongly connected components of more than
 * one file (Tarjan's algorithm).
 *
 * @param files by path
 */
export function importCircles(files: ReadonlyMap<string, SourceFile>): readonly string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  const visit = (path: string): number => {
    const number = order.size;
    order.set(path, number);
    lowest.set(path, number);
    stack.push(path);
    for (const to of staticImports(files, path)) {
      const reached = order.has(to) ? reachedAgain(to) : visit(to);
      lowest.set(path, Math.min(lowest.get(path) ?? number, reached));
    }
    const low = lowest.get(path) ?? number;
    if (low === number) {
      const circle = stack.splice(stack.indexOf(path));
      if (circle.length > 1) circles.push(circle);
    }
    return low;
  };
  const reachedAgain = (path: string): number =>
    stack.includes(path) ? (order.get(path) ?? Infinity) : Infinity;

  for (const path of files.keys()) if (!order.has(path)) visit(path);
  return circles;
}

function staticImports(files: ReadonlyMap<string, SourceFile>, path: string): readonly string[] {
  const { imports = [] } = files.get(path) ?? {};
  return imports.filter(({ to, kind }) => kind !== 'dynamic' && files.has(to)).map(({ to }) => to);
}
