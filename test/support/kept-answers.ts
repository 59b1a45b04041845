import { rawRequest, type Sent } from './raw-request.js';

export interface Asked extends Sent {
  readonly expected?: number;
  /** The answer is not kept: it is made to name the secret to whoever has shown it. */
  readonly isOwn?: boolean;
}

/** Asks, and keeps what was answered. */
export class KeptAnswers {
  readonly texts: string[] = [];
  /** What was answered otherwise than expected, told at the end: one fault must not hide the others. */
  readonly surprises: string[] = [];

  async ask(method: string, url: string, { expected, isOwn = false, ...sent }: Asked): Promise<void> {
    const { status, rawHeaders, bytes } = await rawRequest(method, url, sent);
    if (!isOwn) this.texts.push(rawHeaders.join('\n'), bytes.toString('latin1'));
    if (expected !== undefined && status !== expected)
      this.surprises.push(`${method} ${new URL(url).pathname}: ${status} instead of ${expected}`);
  }
}
