import { templateParts, type TemplateVariable } from '../../../config/schema/profile/template.ts';

/** NUL, which no value of a profile can contain, encloses an expression of Ruby. */
const mark = '\0';

/** Fields of `account`, which the file defines: the entry of passwd(5) of the user whose process renders it. */
const fields: Readonly<Record<TemplateVariable, string>> = {
  USER: 'name',
  HOME: 'dir',
  UID: 'uid',
  GID: 'gid',
};

/** Ruby: what the files with values of `erbFill` begin with. */
export const accountLine = 'account = Etc.getpwuid(Process.euid)';

/** A value for `erbYaml` that an expression of Ruby gives. */
export class RubyValue {
  readonly expression: string;

  constructor(expression: string) {
    this.expression = expression;
  }
}

/** Fills a template of a profile for `erbYaml`: what it names is that of the user who renders the file. */
export function erbFill(template: string): string {
  return templateParts(template)
    .map((part) => {
      if (part.kind === 'variable') return `${mark}account.${fields[part.name]}${mark}`;
      return part.kind === 'text' ? part.text : '';
    })
    .join('');
}

/** A text in a file that ERB renders: it stays as it is. */
export function erbText(text: string): string {
  return text.replaceAll('<%', '<%%');
}

/** Data as YAML that ERB renders. Every text is quoted, or a block. A key without a value (undefined) is left out. */
export function erbYaml(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (Array.isArray(value))
    return value.map((one) => `${indent}- ${erbYaml(one, inner).trimStart()}`).join('');
  if (!isMapping(value)) return `${indent}${scalar(value, indent)}\n`;
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([key, one]) => {
      const name = `${indent}${/^[A-Za-z_][\w-]*$/.test(key) ? key : scalar(key, '')}:`;
      const isList = Array.isArray(one);
      if ((isMapping(one) || isList) && Object.keys(one).length === 0)
        return `${name} ${isList ? '[]' : '{}'}\n`;
      return isMapping(one) || isList
        ? `${name}\n${erbYaml(one, inner)}`
        : `${name} ${scalar(one, inner)}\n`;
    })
    .join('');
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof RubyValue);
}

function scalar(value: unknown, indent: string): string {
  if (value instanceof RubyValue) return `<%= ${value.expression} %>`;
  if (typeof value !== 'string') return String(value);
  const parts = value.split(mark);
  if (parts.length > 1) {
    const ruby = parts.map((part, index) => (index % 2 === 1 ? `#{${part}}` : rubyText(part)));
    return `<%= "${ruby.join('')}".to_json %>`;
  }
  const isText = /^\S[^]*[^\n]\n$/.test(value) && !/[^\n\P{Cc}]/u.test(value);
  if (!isText) return erbText(JSON.stringify(value));
  const lines = value.trimEnd().split('\n');
  return erbText(['|', ...lines.map((line) => (line === '' ? '' : indent + line))].join('\n'));
}

/** Within a string of Ruby in double quotes. `%` could end the tag of ERB. */
function rubyText(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('#', String.raw`\#`)
    .replaceAll('%', String.raw`\x25`);
}
