/** How many fields a public key has in a certificate of its type (PROTOCOL.certkeys of OpenSSH). */
const keyFields: Readonly<Record<string, number>> = {
  'ssh-ed25519-cert-v01@openssh.com': 1,
  'ssh-rsa-cert-v01@openssh.com': 2,
  'ecdsa-sha2-nistp256-cert-v01@openssh.com': 2,
  'ecdsa-sha2-nistp384-cert-v01@openssh.com': 2,
  'ecdsa-sha2-nistp521-cert-v01@openssh.com': 2,
};

/**
 * The public key of the CA that signed a certificate.
 *
 * @param line of a file KEY-cert.pub
 * @returns `TYPE BASE64`; undefined for another type, and for what is cut short
 */
export function authorityKey(line: string): string | undefined {
  const [name = '', base64 = ''] = line.trim().split(/\s+/);
  const fields = keyFields[name];
  const blob = Buffer.from(base64, 'base64');
  let at = 0;
  const string = (): Buffer => {
    const length = at + 4 <= blob.length ? blob.readUInt32BE(at) : 0;
    at += 4 + length;
    return blob.subarray(at - length, at);
  };
  if (fields === undefined || string().toString('latin1') !== name) return undefined;
  // The nonce and the key; serial number and type; identity and principals; two times; options, extensions, reserved.
  for (let field = 0; field < 1 + fields; field += 1) string();
  at += 8 + 4;
  for (let field = 0; field < 2; field += 1) string();
  at += 8 + 8;
  for (let field = 0; field < 3; field += 1) string();
  const key = string();
  if (key.length < 4 || at > blob.length) return undefined;
  const type = key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1');
  return `${type} ${key.toString('base64')}`;
}
