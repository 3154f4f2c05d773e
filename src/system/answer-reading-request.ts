import { asBerthError } from './errors/berth-error.ts';
import type { ReadingAnswer, ReadingRequest } from './reading-process.ts';

/** The other process of `inReadingProcess`: calls one of the readers. Never throws: an error is the answer. */
export async function answerReadingRequest(
  text: string,
  readers: Readonly<Record<string, (...args: never[]) => unknown>>,
): Promise<string> {
  const { reader, args } = JSON.parse(text) as ReadingRequest;
  let answer: ReadingAnswer;
  try {
    answer = { value: await readers[reader]?.(...(args as never[])) };
  } catch (thrown) {
    const { message, code, exit, hint, fields, cause } = asBerthError(thrown, reader);
    const why = cause instanceof Error ? { cause: cause.message } : {};
    answer = { error: { message, code, exit, hint, fields, ...why } };
  }
  return JSON.stringify(answer);
}
