import type { CatalogueEntries } from './entry.ts';

/** hook.env of OSC's hooks. */
export const hookEnvErrors = {
  'hook-env-not-an-assignment': {
    what: 'hook.env contains a command, a command substitution or other shell code. Berth reads the file but never runs it.',
    why: 'Values are computed with `$(…)`, or the file sources another one.',
    next: 'Write the result of the command as a plain value in the line that is named.',
  },
  'hook-env-unsupported': {
    what: 'hook.env uses a shell feature whose result would depend on the running shell.',
    why: 'An unquoted `~`, `{a,b}`, `$1`, `${NAME%…}` or an assignment to a variable that bash itself uses.',
    next: 'Write the value out in the line that is named.',
  },
  'hook-env-unterminated': {
    what: 'hook.env ends within a quote or a `${`.',
    why: 'A closing quote is missing, often many lines above the end.',
    next: 'Close it in the line that is named.',
  },
  'hook-env-value-invalid': {
    what: 'A variable of hook.env has a value that Berth cannot use.',
    why: 'IDP_ISSUER_URL is not an https address, or NETWORK_POLICY_ALLOW_CIDR is not a list of networks such as 10.0.0.0/8.',
    next: 'Correct the line that is named.',
  },
  'hook-env-nul': {
    what: 'hook.env contains a NUL byte.',
    why: 'The file is damaged or is UTF-16.',
    next: 'Save it as plain UTF-8 text.',
  },
  'hook-env-not-utf8': {
    what: 'hook.env is not UTF-8 text.',
    why: 'It was saved in Latin-1 or UTF-16.',
    next: 'Convert it: `iconv -f LATIN1 -t UTF-8 hook.env`.',
  },
  'hook-env-too-large': {
    what: 'hook.env is larger than 1 MiB and was not read.',
    why: 'The path leads to another file.',
    next: 'Correct `hook_env` in berth.yml.',
  },
  'hook-env-unknown-key': {
    what: 'hook.env has a variable that Berth does not read and whose name resembles one that it does read.',
    why: 'The name is misspelled.',
    next: 'Compare with the name in the message.',
  },
  'hook-env-example-value': {
    what: 'CLIENT_ID or CLIENT_SECRET in hook.env still has the value of OSC’s example, `changeme`.',
    why: 'The file was copied and not filled in.',
    next: 'Write the values of the client at your identity provider.',
  },
  'hook-env-pod-security-policy': {
    what: 'USE_POD_SECURITY_POLICY in hook.env has no effect.',
    why: 'Kubernetes removed PodSecurityPolicy in version 1.25.',
    next: 'Remove the variable, and install admission policies: `berth render policies`.',
  },
  'hook-env-token-endpoint': {
    what: 'IDP_ISSUER_URL in hook.env is the token endpoint of a Keycloak realm. Berth takes the issuer from it.',
    why: 'OSC’s example file contains the token endpoint there.',
    next: 'No action is needed. To get rid of the warning, set it to the `issuer` in .well-known/openid-configuration.',
  },
  'hook-env-flag-invalid': {
    what: 'A variable in hook.env that must be `true` or `false` has another value. It is treated as false.',
    why: 'It has a value such as `yes` or `1`.',
    next: 'Write `true` or `false`.',
  },
  'hook-env-carriage-return': {
    what: 'A value of hook.env ends in a carriage return, which becomes part of the value.',
    why: 'The file has Windows line endings (CRLF).',
    next: 'Convert it: `sed -i "s/\\r$//" hook.env`.',
  },
  'hook-env-unset-reference': {
    what: 'hook.env refers to a variable that it does not set. It is read as empty.',
    why: 'OSC’s hook may have taken it from its environment. Berth does not.',
    next: 'Set the variable in hook.env, above the line that uses it.',
  },
} as const satisfies CatalogueEntries;
