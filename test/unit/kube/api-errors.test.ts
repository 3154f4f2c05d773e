import { expect, it } from 'vitest';
import { apiError } from '../../../src/kube/api-errors.ts';

const hintOf = (status: number): string =>
  apiError('reading it', { status, body: { message: 'no' } }).hint;

it('a status that is not expected is not taken for a fault of the server', () => {
  expect(hintOf(500)).toContain('log of the API server');
  expect(hintOf(404)).toMatch(/After 404, check that the manifests are applied/);
});
