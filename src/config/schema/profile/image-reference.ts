const host = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?';
const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const reference = new RegExp(
  `^(?:${host}/)?${component}(?:/${component})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$`,
);

/**
 * Why a text is not an image reference (`NAME[:TAG][@sha256:…]`, github.com/distribution/reference), as the end of a
 * sentence; undefined if it is one. Podman's transports (`dir:`, `docker-archive:`) are refused: they name files.
 */
export function imageProblem(text: string): string | undefined {
  const [name = '', digest, ...more] = text.split('@');
  if (!reference.test(name) || more.length > 0) {
    return 'must be an image, NAME[:TAG][@sha256:…], in lower case';
  }
  if (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    return 'has a malformed digest: it must be sha256: and 64 digits of 0-9a-f';
  }
  return undefined;
}
