import { templateParts, type TemplateVariable } from '../../config/schema/profile/template.ts';

/** NUL, which no value of a profile can contain, encloses what bash replaces. */
const mark = '\0';

/** Within a word for `bashWord`: what the variable of the script has. */
export function bashVariable(name: string): string {
  return `${mark}\${${name}}${mark}`;
}

const values: Readonly<Record<TemplateVariable, string>> = {
  USER: bashVariable('USER'),
  HOME: bashVariable('HOME'),
  UID: `${mark}$(id -u)${mark}`,
  GID: `${mark}$(id -g)${mark}`,
};

/** Fills a template of a profile for `bashWord`: what it names is that of the user who runs the script. */
export function bashFill(template: string): string {
  return templateParts(template)
    .map((part) => (part.kind === 'variable' ? values[part.name] : 'text' in part ? part.text : ''))
    .join('');
}

/** A word of a bash script, quoted where needed. Nothing of it is expanded but what `bashFill` and `bashVariable` made. */
export function bashWord(text: string): string {
  const parts = text.split(mark);
  if (parts.length === 1 && /^[\w@%+=:,./-]+$/.test(text)) return text;
  const quoted = parts.map((part, index) =>
    index % 2 === 1 ? part : part.replaceAll(/["$`\\]/g, String.raw`\$&`),
  );
  return `"${quoted.join('')}"`;
}

/** Words of bash, an option a line, each line with this end. */
export function bashLines(words: readonly string[], end = ''): string {
  return words
    .map(bashWord)
    .reduce(
      (text, word) =>
        `${text}${word.startsWith('--') ? `${end}\n${end === '' ? '  ' : '    '}` : ' '}${word}`,
    );
}
