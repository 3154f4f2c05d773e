import type { Response } from '../site/https.ts';

/** An answer of the API server. `message` is empty unless the body is a Status with a message. */
export interface AdmissionResponse {
  readonly status: number;
  readonly message: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export function verdict({ status, text }: Response): AdmissionResponse {
  const body = JSON.parse(text) as Record<string, unknown>;
  return { status, body, message: typeof body.message === 'string' ? body.message : '' };
}
