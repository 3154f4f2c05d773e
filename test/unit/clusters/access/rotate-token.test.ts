import { expect, it } from 'vitest';
import { explained } from '../../../../src/clusters/access/rotate-token.ts';
import { BerthError, type ErrorCode } from '../../../../src/system/errors/berth-error.ts';

const hintOf = (code: ErrorCode, name: string): string =>
  (
    explained(new BerthError(code, 'no', { hint: 'old' }), 'prod', {
      namespace: 'ondemand',
      name,
    }) as BerthError
  ).hint;

it.each([
  ['berth-hook', 'hook'],
  ['berth-login', 'ssh-sessions'],
  ['berth-reaper', 'reaper'],
  ['berth-ldap-sync', 'ldap-sync'],
])('the hint for %s names its own component, %s', (name, component) => {
  for (const code of ['api-forbidden', 'api-unexpected'] as const) {
    const hint = hintOf(code, name);
    expect(hint).toContain(`\`kubectl apply -k /usr/lib/berth/share/etc/kubernetes/${component}\``);
    expect(hint).toContain(
      `\`berth token setup --cluster prod --from ADMIN_KUBECONFIG --service-account ondemand/${name}\``,
    );
  }
});

it("the hint for a site's own account names no manifest, and other errors keep theirs", () => {
  expect(hintOf('api-forbidden', 'rotator')).not.toContain('kubectl');
  expect(hintOf('api-deadline', 'berth-hook')).toBe('old');
});
