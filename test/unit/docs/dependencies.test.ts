import { expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };

it('package.json says what each dependency is for, and names no other', () => {
  const { dependencies, devDependencies, '//dependencies': uses } = packageJson;
  expect(Object.keys(uses).sort()).toEqual(
    Object.keys({ ...dependencies, ...devDependencies }).sort(),
  );
});
