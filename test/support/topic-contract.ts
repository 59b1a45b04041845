import { z } from 'zod';
import { validatorOf } from './json-schema.js';
import type { Topic } from './topic.js';

interface Message {
  readonly contentType: string;
  readonly headers?: object;
  readonly payload: object;
}
interface AsyncApi {
  readonly channels: Readonly<
    Record<string, { readonly address: string; readonly messages: Readonly<Record<string, { readonly $ref: string }>> }>
  >;
  readonly components: { readonly messages: Readonly<Record<string, Message>>; readonly schemas: object };
}
type Stored = Awaited<ReturnType<Topic['read']>>[number];

/** Compares records with /asyncapi.json: headers and payload must match their topic. */
export class TopicContract {
  private constructor(private readonly document: AsyncApi) {}

  static async read(url: string): Promise<TopicContract> {
    return new TopicContract((await (await fetch(`${url}/asyncapi.json`)).json()) as AsyncApi);
  }

  /** Every topic that it names. */
  get topics(): readonly string[] {
    return Object.values(this.document.channels).map(({ address }) => address);
  }

  /** Differences between the records of a topic and the document. */
  faults(topic: string, records: readonly Stored[]): string[] {
    const channel = Object.values(this.document.channels).find(({ address }) => address === topic);
    const [reference] = Object.values(channel?.messages ?? {});
    const message = this.document.components.messages[reference?.$ref.split('/').at(-1) ?? ''];
    if (message === undefined) return [`${topic} is not in /asyncapi.json`];
    const { schemas } = this.document.components;
    const headers = validatorOf(message.headers ?? {}, schemas);
    const payload = validatorOf(message.payload, schemas);
    return records.flatMap((record) => {
      const isJson = message.contentType === 'application/json';
      const results = [
        headers.safeParse(record.headers),
        ...(isJson ? [payload.safeParse(JSON.parse(record.value.toString()))] : []),
      ];
      return results.flatMap(({ error }) =>
        error === undefined
          ? []
          : [`${topic}: ${z.prettifyError(error)}\n${JSON.stringify(record.headers)} ${record.value.toString()}`],
      );
    });
  }
}
