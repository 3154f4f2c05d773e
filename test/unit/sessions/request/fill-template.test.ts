import { describe, expect, it } from 'vitest';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import { fillTemplate, type TemplateUser } from '../../../../src/sessions/request/fill-template.ts';

const user: TemplateUser = { name: 'eve', uid: 1042, gid: 100, home: '/home/eve' };

function code(template: string, as: Partial<TemplateUser> = {}): string {
  try {
    return `filled: ${fillTemplate(template, { ...user, ...as })}`;
  } catch (error) {
    if (error instanceof BerthError) return error.code;
    throw error;
  }
}

describe('a template', () => {
  it.each([
    ['', ''],
    ['/data', '/data'],
    ['$HOME', '/home/eve'],
    ['/s/$USER/${USER}x/$UID-${GID}', '/s/eve/evex/1042-100'],
    ['$$HOME costs $$5', '$HOME costs $5'],
    ['$$$USER', '$eve'],
    ['a\nb', 'a\nb'],
  ])('%j is %j', (template, filled) => {
    expect(fillTemplate(template, user)).toBe(filled);
  });

  it.each(['$PATH', '${HOME:-x}', '${}', '$', '$1', '$(id)', 'x${USER', '$USER_NAME'])(
    'may not be %j',
    (template) => {
      expect(code(template)).toBe('template-invalid');
    },
  );

  it('does not look into a value for further variables', () => {
    expect(code('$HOME/x', { home: '/home/$USER' })).toBe('filled: /home/$USER/x');
    expect(code('$HOME/x', { home: '/home/$$' })).toBe('filled: /home/$$/x');
  });

  it('has a home without the slash at its end', () => {
    expect(code('$HOME/x', { home: '/home/eve/' })).toBe('filled: /home/eve/x');
  });

  it.each([
    ...['/home/a:/etc', '/home/a,ro', '/home/a\nb', '/home/a\0', '/home/"a', "/home/'a", '/h\\a'],
    ...['', '/', '//', 'home/a', '/home/..', '/home/../etc', '/./a', '/home//a', '../a', ','],
    ...['/home/a\u001b[0m', '/home/a\u0085b'],
  ])('refuses the home %j: it would be options of a mount, or another directory', (home) => {
    expect(code('$HOME', { home })).toBe('template-value-unsafe');
    expect(code('/x', { home })).toBe('filled: /x');
  });

  it.each(['', '.', '..', 'a/b', 'a:b', 'a,b', 'a b', 'a\nb', '../a', '$HOME'])(
    'refuses the user name %j as a part of a path',
    (name) => {
      expect(code('/scratch/$USER', { name })).toBe('template-value-unsafe');
    },
  );

  it('takes names as directory services have them', () => {
    expect(code('$USER', { name: 'e.v-e_1@hpc.example' })).toBe('filled: e.v-e_1@hpc.example');
    expect(code('$HOME', { home: '/home/hpc.example/É ve' })).toBe(
      'filled: /home/hpc.example/É ve',
    );
  });
});
