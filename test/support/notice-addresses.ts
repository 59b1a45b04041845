import { NOTICE_TYPES, type NoticeType } from '@relay/events';
import type { Client, Json } from './client.js';
import type { Receiver, Received } from './receiver.js';
import { until } from './until.js';

/** The webhooks of notices of a partner, one of each type. */
export class NoticeAddresses {
  private constructor(
    private readonly receiver: Receiver,
    /** Their ids. */
    readonly ids: ReadonlyMap<NoticeType, string>,
  ) {}

  static async register(partner: Client, receiver: Receiver): Promise<NoticeAddresses> {
    const ids = new Map<NoticeType, string>();
    for (const eventType of NOTICE_TYPES) {
      const endPointUrl = receiver.url(`/notices/${eventType}`);
      ids.set(eventType, await partner.register({ eventType, endPointUrl, apiKey: 'key' }));
    }
    return new NoticeAddresses(receiver, ids);
  }

  /** The notices of a type about a webhook that have arrived. */
  got(type: NoticeType, webhook: string): Received[] {
    return this.receiver.at(`/notices/${type}`).filter((received) => String(payloadOf(received)['id']) === webhook);
  }

  /** The payload of the first one, once it is there. */
  async arrived(type: NoticeType, webhook: string, withinMs = 60_000): Promise<Json> {
    await until(`${type} arrives`, () => this.got(type, webhook).length > 0, { withinMs });
    return payloadOf(this.got(type, webhook)[0] as Received);
  }
}

/** The payload of a received envelope. */
export const payloadOf = ({ body }: Received): Json => (JSON.parse(body.toString()) as Json)['payload'] as Json;
