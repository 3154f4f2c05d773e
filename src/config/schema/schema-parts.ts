import * as z from 'zod/mini';

/** A string that is not empty. */
export const text = z.string().check(z.minLength(1, 'must not be empty'));

/** An absolute path of a file that is read as it is. */
export const path = matching(/^\/[^\0\n]*$/, 'must be an absolute path');

/** A string that matches the pattern. */
export function matching(pattern: RegExp, message: string) {
  return z.string().check(z.regex(pattern, message));
}

/** A string that passes the test. */
export function passing(test: (text: string) => boolean, message: string) {
  return z.string().check(z.refine(test, message));
}

/** A whole number between two bounds, which are included. */
export function wholeNumber(
  least: number,
  most: number,
  tooLow = `must be ${least} or more`,
  tooHigh = `must be ${most} or less`,
) {
  return z.int().check(z.minimum(least, tooLow), z.maximum(most, tooHigh));
}

/** A mapping with these keys, none of which is required. */
export function optionalKeys<const Shape extends z.core.$ZodShape>(shape: Shape) {
  return z.partial(z.strictObject(shape));
}
