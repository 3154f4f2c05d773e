import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { explainText, explanations } from '../../../../src/cli/explain/explain-text.ts';
import { checkIds } from '../../../../src/system/errors/check-result.ts';
import { catalogue } from '../../../../src/system/errors/catalogue.ts';
import { pageText } from '../../../rig/markdown-pages.ts';

describe('berth explain CODE', () => {
  it.each(['token-expired', 'code=token-expired', '[token-expired]'])('finds %s', (wanted) => {
    expect(explanations(wanted).map(({ code }) => code)).toEqual(['token-expired']);
  });

  it('prints what happened, why, and what to do, in lines of 80 characters', () => {
    const text = explainText(explanations('token-expired'));
    expect(text).toMatch(/^token-expired \(exit status 77; Tokens and the identity provider\)\n\n/);
    expect(text).toMatch(/\n\nWhy:\n {2}\S[^]*\n\nWhat to do:\n {2}\S[^]*\.\n$/);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('names the nearest code for a misspelled one, with exit status 64', () => {
    expect(() => explanations('token-expierd')).toThrow(
      expect.objectContaining({
        exitCode: 64,
        message:
          'unknown code, check or configuration key: token-expierd (did you mean token-expired?)',
      }) as Error,
    );
    expect(() => explanations('zzz')).toThrow(/^unknown code, check or configuration key: zzz$/);
  });

  it('suggests only checks after check:', () => {
    expect(() => explanations('check:token-expired')).toThrow(/^unknown check token-expired$/);
    expect(() => explanations('check:portal-hok', ['portal-hok'])).toThrow(
      'unknown check portal-hok (did you mean portal-hook?)',
    );
  });
});

describe('berth explain', () => {
  it('lists every code below its domain', () => {
    const text = explainText(explanations(undefined));
    for (const { title, entries } of catalogue) {
      expect(text).toContain(`${title}\n  `);
      for (const { code } of entries) expect(text).toContain(`\n  ${code}:`);
    }
  });

  it('is there for each check of doctor, also for one with the name of a key', () => {
    const names = explanations(undefined).flatMap(({ type, code }) =>
      type === 'check' ? [code] : [],
    );
    expect(names).toEqual(checkIds);
    expect(pageText('docs/checks.md').match(/^### .*/gm)).toEqual(names.map((id) => `### ${id}`));
    expect(explainText(explanations('portal-hook'))).toMatch(
      /^portal-hook \(check of berth doctor\)\n[^]*\n\nIf it fails:\n/,
    );
    expect(explainText(explanations('api-certificate'))).toMatch(
      /^api-certificate \(exit status [^]*\n\napi-certificate \(check of /,
    );
  });

  it('is there for no check that doctor does not make', () => {
    const sources = globSync('src/{diagnose/doctor,setup/images,setup/sshd-lint}/**/*.ts').map(
      (file) => readFileSync(file, 'utf8'),
    );
    const unused = checkIds.filter(
      (id) =>
        !/^(?:admission|balancer)-config$/.test(id) &&
        !sources.some((text) => text.includes(`'${id}'`)),
    );
    expect(unused).toEqual([]);
  });

  it('is there for a finding of the linter, which has no exit status', () => {
    const found = explanations('shell-reads-home');
    expect(explainText(found)).toMatch(
      /^shell-reads-home \(finding of berth sshd lint\)\n[^]*\n\nWhat to do:\n {2}The login program /,
    );
    expect(found).toMatchObject([{ exit_status: [] }]);
  });
});
