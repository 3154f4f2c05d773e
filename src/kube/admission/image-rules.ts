import type { AdmissionParameters } from '../../config/schema/admission-parameters.ts';
import { allowedValues, celString, type Rule, type Variable } from './policy-types.ts';

/** The first part of a reference names a registry by the rule of distribution/reference. */
const first = "i.split('/')[0]";
const namesRegistry = `${first}.contains('.') || ${first}.contains(':') || ${first} == 'localhost' || ${first}.lowerAscii() != ${first}`;
const full = `!i.contains('/') ? 'docker.io/library/' + i : (${namesRegistry}) ? i : 'docker.io/' + i`;

/** A prefix must end at a separator: `example.org` does not match `example.org.evil.net`. */
function within(prefix: string): string {
  const starts = (sign: string): string => `i.startsWith(${celString(prefix + sign)})`;
  // After a registry alone, a colon would start a port.
  return prefix.includes('/')
    ? `(i == ${celString(prefix)} || ${starts('/')} || ${starts(':')} || ${starts('@')})`
    : starts('/');
}

/** Needs `containers` and `volumes`: a volume can be an image. */
export function imageVariables({ images }: AdmissionParameters): Variable[] {
  const foreign = images.includes('*')
    ? 'false'
    : `!(${['false', ...images.map(within)].join(' || ')})`;
  return [
    {
      name: 'foreignImages',
      expression: `(variables.containers.map(c, c.?image.orValue('')) + variables.volumes.map(v, dyn(v.?image.?reference.orValue('')))).filter(i, i != '').map(i, ${full}).filter(i, ${foreign})`,
    },
  ];
}

/** Images must be from the registries on the site's list. */
export function imageRules({ images }: AdmissionParameters): Rule[] {
  return [
    {
      holds: 'size(variables.foreignImages) == 0',
      message: `'image ' + variables.foreignImages.join(', ') + ${allowedValues(images)}`,
    },
  ];
}
