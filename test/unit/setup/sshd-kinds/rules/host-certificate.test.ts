import { describe, expect, it } from 'vitest';
import {
  parseHostCertificate,
  renewalReason,
} from '../../../../../src/setup/sshd-kinds/rules/host-certificate.ts';

/** What ssh-keygen of OpenSSH 9.2 prints. */
const printed = `h-cert.pub:
        Type: ssh-ed25519-cert-v01@openssh.com host certificate
        Public key: ED25519-CERT SHA256:YsRY7XLUK8TDenQT2XOfuv1yT8YlH15Et/h9gXlCZfs
        Signing CA: ED25519 SHA256:jOP7qdHPybqABTCjY9ux5VGq7KcLNzYMvCChwTnEN3k (using ssh-ed25519)
        Key ID: "login 1"
        Serial: 7
        Valid: from 2026-11-23T19:16:28 to 2028-02-29T19:38:08
        Principals: 
                login.example.org
                login1.example.org
        Critical Options: (none)
        Extensions: (none)
`;

describe('a certificate of a host key', () => {
  it('is read from the output of ssh-keygen', () => {
    expect(parseHostCertificate(printed)).toEqual({
      key: 'SHA256:YsRY7XLUK8TDenQT2XOfuv1yT8YlH15Et/h9gXlCZfs',
      authority: 'SHA256:jOP7qdHPybqABTCjY9ux5VGq7KcLNzYMvCChwTnEN3k',
      identity: 'login 1',
      principals: ['login.example.org', 'login1.example.org'],
      from: Date.parse('2026-11-23T19:16:28Z'),
      until: Date.parse('2028-02-29T19:38:08Z'),
    });
  });

  it('may have no end', () => {
    const forever = printed.replace(/Valid: .*/, 'Valid: forever');
    expect(parseHostCertificate(forever)).toMatchObject({ from: -Infinity, until: Infinity });
    const after = printed.replace(/Valid: .*/, 'Valid: after 2026-01-01T00:00:00');
    const from = Date.parse('2026-01-01T00:00:00Z');
    expect(parseHostCertificate(after)).toMatchObject({ from, until: Infinity });
  });

  it('is not the certificate of a user', () => {
    expect(parseHostCertificate(printed.replace('host cert', 'user cert'))).toBeUndefined();
    expect(parseHostCertificate('')).toBeUndefined();
  });

  it('is renewed when less than a third of its time is left, or when it is for something else', () => {
    const present = parseHostCertificate(printed);
    if (present === undefined) throw new Error('not parsed');
    const reason = (change: object, left: number) =>
      renewalReason(
        present,
        { ...present, ...change },
        present.until - left * (present.until - present.from),
      );
    expect(reason({}, 0.4)).toBeUndefined();
    expect(reason({}, 0.3)).toBe('ends-soon');
    expect(reason({}, -0.1)).toBe('expired');
    expect(reason({ principals: [...present.principals].reverse() }, 0.9)).toBeUndefined();
    expect(reason({ principals: ['login.example.org'] }, 0.9)).toBe('principals');
    expect(reason({ key: 'SHA256:x' }, 0.9)).toBe('other-key');
    expect(reason({ authority: 'SHA256:x' }, 0.9)).toBe('other-ca');
  });
});
