/** One directive of an Apache configuration. */
export interface ApacheDirective {
  /** In lower case, because Apache ignores case. */
  readonly name: string;
  readonly args: readonly string[];
  /** The sections around it, outermost first, without conditions such as `<IfModule>`. */
  readonly sections: readonly ApacheSection[];
}

/** The same object for all directives of one section. */
export interface ApacheSection {
  /** In lower case: `virtualhost`, `locationmatch`. */
  readonly name: string;
  readonly argument: string;
}

/**
 * The directives of an Apache configuration file, in order. All conditions count as true, and included files
 * are not read. That suffices for the files of OnDemand's generator.
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

/** Splits arguments as Apache does: single or double quotes, in which a backslash escapes the quote. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g)].map(
    ([, double, single, plain]) => plain ?? (double ?? single ?? '').replaceAll(/\\(["'])/g, '$1'),
  );
}
