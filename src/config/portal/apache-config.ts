/** One directive of an Apache configuration. */
export interface ApacheDirective {
  /** In lower case: Apache does not tell them apart. */
  readonly name: string;
  readonly args: readonly string[];
  /** The sections that it stands in, outermost first, without conditions such as `<IfModule>`. */
  readonly sections: readonly ApacheSection[];
}

/** The same object for all directives of one section. */
export interface ApacheSection {
  /** Lower case: `virtualhost`, `locationmatch`. */
  readonly name: string;
  readonly argument: string;
}

/**
 * The directives of an Apache configuration file in their order. Conditions are taken as true and files
 * that it includes are not read: enough for what OnDemand's generator writes.
 */
export function parseApacheConfig(text: string): ApacheDirective[] {
  const open: ApacheSection[] = [];
  return text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, slash, section, argument] = /^\s*<(\/?)(\w+)\s*(.*?)>?\s*$/.exec(line) ?? [];
      if (section !== undefined) {
        if (slash === '/') open.pop();
        else
          open.push({ name: section.toLowerCase(), argument: wordsOf(argument ?? '').join(' ') });
        return [];
      }
      const [name, ...args] = wordsOf(line);
      if (name === undefined || name.startsWith('#')) return [];
      const sections = open.filter((one) => !one.name.startsWith('if'));
      return [{ name: name.toLowerCase(), args, sections }];
    });
}

/** Words as Apache splits them: quotes of both kinds, in which a backslash escapes the quote. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g)].map(
    ([, double, single, plain]) => plain ?? (double ?? single ?? '').replaceAll(/\\(["'])/g, '$1'),
  );
}
