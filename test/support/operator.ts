import type { App } from './app.js';
import type { Stack } from './stack.js';

interface Shown<T> {
  readonly status: number;
  readonly text: string;
  readonly json: T;
}

/** An operator of a relay, who asks its operations app. */
export class Operator {
  private constructor(
    private readonly url: string,
    readonly clientId: string,
    readonly clientSecret: string,
  ) {}

  static async of(stack: Stack, operations: App<'operations'>): Promise<Operator> {
    const issued = await stack.client('operator', 'night', '--role', 'operator');
    const { clientId, clientSecret } = issued as Record<'clientId' | 'clientSecret', string>;
    return new Operator(operations.url, clientId, clientSecret);
  }

  /** @property json undefined when the answer is no JSON */
  async get<T>(path: string): Promise<Shown<T>> {
    const credential = Buffer.from(`${this.clientId}:${this.clientSecret}`).toString('base64');
    const response = await fetch(this.url + path, { headers: { authorization: `Basic ${credential}` } });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, text, json: (isJson ? JSON.parse(text) : undefined) as T };
  }
}
