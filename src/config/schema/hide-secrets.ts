/** Stands for a secret. */
export const hidden = '***';

/** An option or a parameter of a URL with a secret, by its name. */
const secretName = /(?:secret|token|passw(?:or)?d|credential|assertion)/i;

/** A JSON Web Token, wherever it is. */
const jsonWebToken = /eyJ[\w-]{6,}(?:\.[\w-]*)*/g;

/** A command line to be shown, without the values of options that may be secrets: an exec plugin of a kubeconfig may have some. */
export function shownWords(words: readonly string[]): string[] {
  return words.map((word, index) => {
    const before = words[index - 1] ?? '';
    const isValue = /^--?[\w-]+$/.test(before) && secretName.test(before) && !word.startsWith('-');
    if (isValue) return hidden;
    const [, name] = /^(--?[\w-]+=)/.exec(word) ?? [];
    if (name !== undefined && secretName.test(name)) return `${name}${hidden}`;
    return word.replaceAll(jsonWebToken, hidden);
  });
}

/** A URL to be shown, without a password and without the parameters that may be secrets. */
export function shownUrl(url: string): string {
  const [place = '', query] = url.split('?', 2);
  const shown = place.replace(/^(\w+:\/\/)[^/@]*@/, `$1${hidden}@`);
  const parameters = query?.split('&').map((parameter) => {
    const [name = ''] = parameter.split('=', 1);
    return secretName.test(name) || name === 'code' ? `${name}=${hidden}` : parameter;
  });
  const all = parameters === undefined ? shown : `${shown}?${parameters.join('&')}`;
  return all.replaceAll(jsonWebToken, hidden);
}
