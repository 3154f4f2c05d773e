import { expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { tableRows } from '../../rig/markdown-pages.ts';

it('CONTRIBUTING.md says what each dependency is for, and names no other', () => {
  const named = tableRows('CONTRIBUTING.md', 'package').flatMap(([packages = '']) =>
    packages.split(', '),
  );
  const { dependencies, devDependencies } = packageJson;
  expect(named.sort()).toEqual(Object.keys({ ...dependencies, ...devDependencies }).sort());
});
