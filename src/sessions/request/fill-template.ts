import { pathProblem, withoutTrailingSlash } from '../../config/schema/profile/mount-path.ts';
import { type TemplateVariable, templateParts } from '../../config/schema/profile/template.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';

/** The fields of an account that a template can use. */
export type TemplateUser = Pick<User, 'name' | 'uid' | 'gid' | 'home'>;

/**
 * Replaces `$USER`, `$UID`, `$GID`, `$HOME` and `$$` (a dollar sign) in a template of a profile.
 *
 * Values are not expanded again. A value is refused if it could end the path of a mount and start an option
 * (podman separates with `:` and `,` and interprets quotes), or lead out of the directory that the template names.
 *
 * @throws {BerthError} `template-value-unsafe`, `template-invalid`
 */
export function fillTemplate(template: string, user: TemplateUser): string {
  const filled = templateParts(template).map((part) => {
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'variable':
        return valueOf(part.name, user);
      case 'fault':
        throw new BerthError(
          'template-invalid',
          `${JSON.stringify(template.slice(0, 200))} ${part.problem}`,
        );
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
      // Exactly one path component, and not `.` or `..`.
      if (/^[\w@.-]+$/.test(user.name) && !/^\.{1,2}$/.test(user.name)) return user.name;
      throw unsafe('name', user.name);
    case 'HOME':
      if (pathProblem(user.home) === undefined) return withoutTrailingSlash(user.home);
      throw unsafe('home', user.home);
  }
}

function unsafe(what: 'name' | 'home', value: string): BerthError {
  return new BerthError(
    'template-value-unsafe',
    `the account's ${what} cannot be used: ${JSON.stringify(value.slice(0, 200))}`,
  );
}
