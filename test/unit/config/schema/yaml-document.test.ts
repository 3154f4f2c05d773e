import { describe, expect, it } from 'vitest';
import { parseYaml } from '../../../../src/config/schema/yaml-document.ts';

/** Mappings within mappings. */
function nested(levels: number): string {
  return Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}a:\n`).join('');
}

const file = '/etc/berth/berth.yml';

describe('an invalid YAML file of Berth’s', () => {
  it.each([
    ['defaults:\n  subject_prefix: oidc:\n', '2:19', 'a value with a colon must be in quotes'],
    ['a: {subject_prefix: oidc:}\n', '1:21', 'a value with a colon must be in quotes'],
    ['a: 1\n---\nb: 2\n', '2:1', 'a second YAML document begins here'],
    ['---\na: 1\n...\nb: 2\n', '4:1', 'a second YAML document begins here'],
    ['a: 1\na: 2\n', '2:1', 'duplicate key'],
    ['a:\n\tb: 1\n', '2:1', 'a tab indents this line'],
    ['a:\n  b: 1\n c: 2\n', '3:1', 'wrong indentation'],
    ['a: "x\n', '2:1', 'a closing quote, a bracket, a comma or a colon is missing'],
    ['a: [x\n', '2:1', 'wrong indentation, or a missing closing bracket'],
    ['a: @x\n', '1:4', 'a value that begins with this character must be in quotes'],
    ['a: "\\d"\n', '1:5', 'an unknown escape sequence in double quotes'],
    ['a: *b\n', '1:1', 'aliases that cannot be resolved'],
    ['a: 1\nb: "\0"\n', '2:5', 'a control character'],
    ['['.repeat(300), '1:1', 'it is nested too deeply'],
    ['- '.repeat(300), '1:1', 'it is nested too deeply'],
    [nested(300), '1:1', 'it is nested too deeply'],
  ])('%j: at %s, %s', (text, place, message) => {
    const [line, column] = place.split(':').map(Number);
    expect(() => parseYaml(text, file, 'core')).toThrow(
      expect.objectContaining({
        code: 'config-yaml-invalid',
        message: expect.stringContaining(`${file}:${place}: invalid YAML: ${message}`) as string,
        fields: { file, line, column },
      }) as Error,
    );
  });

  it('is one only if the parser cannot read it', () => {
    expect(() => parseYaml(nested(150), file, 'core')).not.toThrow();
    expect(parseYaml(`a: ${' '.repeat(300)}|\n${' '.repeat(300)}[x]\n`, file, 'core')).toEqual({
      a: '[x]\n',
    });
  });

  it('gets a hint to quote a prefix with a colon', () => {
    expect(() => parseYaml('subject_prefix: oidc:', file, 'core')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("'oidc:'") as string }) as Error,
    );
  });

  it.each(['psych', 'kubectl'] as const)(
    'has its first document only, as others read theirs: %s',
    (dialect) => {
      expect(parseYaml('a: 1\n---\nb: 2\n', file, dialect)).toEqual({ a: 1 });
    },
  );

  it('may begin and end with a document marker', () => {
    expect(parseYaml('---\na: 1\n...\n', file, 'core')).toEqual({ a: 1 });
  });
});
