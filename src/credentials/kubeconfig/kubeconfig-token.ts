import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, isSeq } from 'yaml';
import { BerthError } from '../../system/errors/berth-error.ts';
import { isMapping, itemsOf, pairOf, parseKubeconfig } from './kubeconfig-document.ts';
import { applySplices } from './text-splices.ts';

/**
 * Replaces the static token of one user entry and keeps every other byte of the kubeconfig, in block
 * style, flow style and JSON. The result is parsed again: only the token may differ.
 *
 * @param token a JWT, which is plain text to every YAML reader
 * @throws `kubeconfig-invalid`, `kubeconfig-too-large`; `hook-token-not-in-kubeconfig` if the entry has no
 *   token of its own; `kubeconfig-not-editable` if others share its text by an alias
 */
export function replaceToken(text: string, user: string, token: string, file: string): string {
  if (!/^[A-Za-z][\w.-]*$/.test(token)) throw notEditable(file, 'the new token is not a JWT');
  const { root, values } = parseKubeconfig(text, file);
  const users = itemsOf(values, 'users');
  const index = users.findIndex(({ name }) => name === user);
  const entry = users[index]?.user;
  if (!isMapping(entry) || typeof entry.token !== 'string') {
    throw new BerthError('hook-token-not-in-kubeconfig', `${file}: user ${user} has no token`, {
      fields: { file },
    });
  }
  const list = root && pairOf(root, 'users')?.value;
  const item = isSeq(list) ? list.items[index] : undefined;
  const fields = isMap(item) ? pairOf(item, 'user')?.value : undefined;
  const value = isMap(fields) ? pairOf(fields, 'token')?.value : undefined;
  if (!isScalar(value) || !value.range) throw notEditable(file, 'the token is an alias');
  const [start, end] = value.range;
  const old = text.slice(start, end);
  const quote = old.startsWith('"') ? '"' : old.startsWith("'") ? "'" : '';
  // A block scalar (`|`, `>`) takes its line ending along.
  const tail = old.endsWith('\r\n') ? '\r\n' : old.endsWith('\n') ? '\n' : '';
  const edited = applySplices(text, [{ start, end, text: quote + token + quote + tail }]);

  const expected = {
    ...values,
    users: users.map((one, at) => (at === index ? { ...one, user: { ...entry, token } } : one)),
  };
  if (!isDeepStrictEqual(parseKubeconfig(edited, file).values, expected))
    throw notEditable(file, 'another entry shares this token by an alias');
  return edited;
}

function notEditable(file: string, reason: string): BerthError {
  return new BerthError(
    'kubeconfig-not-editable',
    `${file}: the token cannot be replaced: ${reason}`,
    {
      fields: { file },
    },
  );
}
