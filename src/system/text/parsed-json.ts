/** A text as JSON; undefined if it is none, such as a file that a power failure has truncated. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
