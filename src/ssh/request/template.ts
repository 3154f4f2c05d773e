import { pathProblem, withoutSlash } from '../../config/profile/plain-path.ts';
import { type TemplateVariable, templateParts } from '../../config/profile/template-text.ts';
import { BerthError } from '../../errors.ts';
import type { User } from '../../identity/user.ts';

/** The part of an account that a template can name. */
export type TemplateUser = Pick<User, 'name' | 'uid' | 'gid' | 'home'>;

/**
 * A profile's template with the user's own values: `$USER`, `$UID`, `$GID`, `$HOME`, `$$` for a dollar.
 *
 * Values are data: they are not looked at for further variables, and one that could end a mount's
 * path and begin an option (podman separates with `:` and `,`, and reads quotes) or leave the folder
 * that the template names is refused.
 *
 * @throws BerthError `template-value-unsafe`, `template-invalid`
 */
export function fillTemplate(template: string, user: TemplateUser): string {
  const filled = templateParts(template).map((part) => {
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'variable':
        return valueOf(part.name, user);
      case 'fault':
        throw new BerthError(`${JSON.stringify(template.slice(0, 200))} ${part.problem}`, {
          code: 'template-invalid',
          exit: 'config',
          hint: 'Correct it in the profile; `berth doctor` reads all of them.',
        });
    }
  });
  return filled.join('');
}

function valueOf(name: TemplateVariable, user: TemplateUser): string {
  switch (name) {
    case 'UID':
      return String(user.uid);
    case 'GID':
      return String(user.gid);
    case 'USER':
      // One component of a path: never a way out of the folder before it.
      if (/^[\w@.-]+$/.test(user.name) && !/^\.{1,2}$/.test(user.name)) return user.name;
      throw unsafe('name', user.name);
    case 'HOME':
      if (pathProblem(user.home) === undefined) return withoutSlash(user.home);
      throw unsafe('home', user.home);
  }
}

function unsafe(what: 'name' | 'home', value: string): BerthError {
  return new BerthError(
    `the account's ${what} cannot be used: ${JSON.stringify(value.slice(0, 200))}`,
    {
      code: 'template-value-unsafe',
      exit: 'config',
      hint:
        what === 'home'
          ? 'A home is an absolute path below / without quotes, `:`, `,` or `..`: change it in passwd or LDAP.'
          : 'A user name has letters, digits and `_`, `.`, `@`, `-` only: change it in passwd or LDAP.',
    },
  );
}
