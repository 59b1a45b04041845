import { FetchSession, type FetchedTopic, type SessionAnswer } from './fetch-session.js';
import { kafkajsModule } from './kafkajs-module.adapter.js';

interface FetchRequest {
  readonly topics: readonly FetchedTopic[];
}
type Build = (request: FetchRequest) => unknown;
interface Broker {
  lookupRequest(apiKey: number, definition: unknown): Build;
  fetch(request: FetchRequest): Promise<SessionAnswer>;
}
type Send = (this: Broker, request: unknown) => Promise<SessionAnswer>;

// kafkajs 2.2.4 names all partitions in each fetch request, and the broker all of them in each answer: 84 of them cost the
// worker 0.65 ms, and the broker as much, for one record. Its encoders and decoders know fetch sessions,
// but nothing uses them. Each consumer has brokers of its own, so a session belongs to one of these.
const BrokerClass = kafkajsModule('broker')?.exports as { prototype: Broker } | undefined;
const requests = kafkajsModule('protocol/requests')?.exports as { requests: { Fetch?: unknown } } | undefined;
const apiKeys = kafkajsModule('protocol/requests/apiKeys')?.exports as { Fetch?: number } | undefined;
const prototype = BrokerClass?.prototype;
const sendRequest = Object.getOwnPropertySymbols(prototype ?? {}).find(({ description = '' }) =>
  description.endsWith('sendRequest'),
);
const [definition, apiKey] = [requests?.requests.Fetch, apiKeys?.Fetch];

if (prototype !== undefined && sendRequest !== undefined && definition !== undefined && apiKey !== undefined) {
  const send = (prototype as unknown as Record<symbol, Send>)[sendRequest] as Send;
  const sessions = new WeakMap<Broker, FetchSession>();
  const sessionOf = (broker: Broker): FetchSession => {
    const session = sessions.get(broker) ?? new FetchSession();
    sessions.set(broker, session);
    return session;
  };
  prototype.fetch = async function (this: Broker, request: FetchRequest): Promise<SessionAnswer> {
    const build = this.lookupRequest(apiKey, definition);
    const session = sessionOf(this);
    const asked = session.request(request.topics);
    try {
      const answer = await send.call(this, build({ ...request, ...asked }));
      session.answered(asked, answer);
      return answer;
    } catch (error) {
      session.failed(asked);
      throw error;
    }
  };
}
