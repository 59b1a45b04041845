import { execFileSync } from 'node:child_process';
import { CloudEvent, Kafka } from 'cloudevents';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { skipped, standardWebhooks } from '../documents/languages.js';
import { anEnvelope } from '../support/client.js';
import type { Received } from '../support/receiver.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const TYPE = 'plan.updated';
const BODIES = 1_000;
const AT_ONCE = 50;
const PYTHON = `
import base64, json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
def holds(secret, delivery):
    try:
        Webhook(secret).verify(base64.b64decode(delivery["body"]), delivery["headers"])
        return True
    except WebhookVerificationError:
        return False
given = json.load(sys.stdin)
print(json.dumps([[holds(secret, delivery) for secret in given["secrets"]] for delivery in given["deliveries"]]))
`;

/** Any character: of half a surrogate pair, which no body may have, UTF-8 makes the replacement character. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff))
  .map((point) => Buffer.from(String.fromCodePoint(point)).toString());
const text = fc.string({ unit: character });
const payload = fc.record({ text, list: fc.array(fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null))) });

/** In the order in which they arrived: a third before the secret is rotated. */
let received: readonly Received[];
let secrets: readonly [old: string, newest: string];
const sent = fc.sample(payload, BODIES).map((each) => anEnvelope({ type: TYPE, payload: each }));

startRelay();

beforeAll(async () => {
  const id = await partner.register({ eventType: TYPE, endPointUrl: relay.receiver.url('/libraries'), apiKey: 'key' });
  const secret = async (method: string, path: string): Promise<string> =>
    String((await partner.request(method, `/webhooks/${id}/secret${path}`)).json['secret']);
  const send = async (envelopes: readonly object[]): Promise<void> => {
    for (let first = 0; first < envelopes.length; first += AT_ONCE) {
      const answers = await Promise.all(envelopes.slice(first, first + AT_ONCE).map((one) => source.post(one)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    }
  };
  const arrive = (count: number): Promise<boolean> =>
    until('they arrive', () => relay.receiver.at('/libraries').length === count, {
      seen: () => relay.receiver.at('/libraries').length,
    });
  const before = Math.floor(BODIES / 3);
  const old = await secret('GET', '');
  await send(sent.slice(0, before));
  await arrive(before);
  secrets = [old, await secret('POST', '/rotate')];
  await send(sent.slice(before));
  await arrive(BODIES);
  received = relay.receiver.at('/libraries');
});

/** Of each delivery, in the order of arrival: whether the old and whether the new secret verifies it. */
const EXPECTED = Array.from({ length: BODIES }, (_, index) => [true, index >= Math.floor(BODIES / 3)]);
const headersOf = ({ headers }: Received): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

describe('standardwebhooks', () => {
  it(`from npm verifies ${BODIES} random bodies, before and while the secret is rotated`, () => {
    const holds = (secret: string, { body, headers }: { body: string; headers: Record<string, string> }): boolean => {
      try {
        new Webhook(secret).verify(body, headers);
        return true;
      } catch {
        return false;
      }
    };
    const given = received.map((each) => ({ body: each.body.toString(), headers: headersOf(each) }));
    expect(given.map((each) => secrets.map((secret) => holds(secret, each)))).toEqual(EXPECTED);
    // And what it verified is what was sent, to the letter of its JSON.
    const bodies = new Map(given.map(({ body, headers }) => [headers['webhook-id'], body]));
    expect(sent.filter((each) => bodies.get(each.id) !== JSON.stringify(each))).toEqual([]);
  });

  const library = standardWebhooks();
  if (library === undefined) skipped('standardwebhooks of PyPI: python3 with pip and PyPI are not here');
  else
    it('from PyPI verifies the same bodies', () => {
      const deliveries = received.map((each) => ({ headers: headersOf(each), body: each.body.toString('base64') }));
      const answer = execFileSync('python3', ['-c', PYTHON], {
        input: JSON.stringify({ secrets, deliveries }),
        env: { ...process.env, PYTHONPATH: library },
        encoding: 'utf8',
      });
      expect(JSON.parse(answer)).toEqual(EXPECTED);
    });
});

describe('the SDK of CloudEvents', () => {
  it('reads each record of the topic as a valid event with the envelope as its data', async () => {
    const records = await relay.stack.topic(TYPE).read();
    const events = records.map(({ key, value, headers }) => {
      const message = { key, value: value.toString(), body: value.toString(), headers };
      expect(Kafka.isEvent(message)).toBe(true);
      const event = Kafka.toEvent(message) as CloudEvent<unknown>;
      expect(event.validate()).toBe(true);
      return event;
    });
    const facts = events.map(({ id, type, source: from, specversion, datacontenttype, data }) => ({
      id,
      type,
      from,
      specversion,
      datacontenttype,
      data: typeof data === 'string' ? (JSON.parse(data) as unknown) : data,
    }));
    const expected = sent.map((envelope) => ({
      id: envelope.id,
      type: TYPE,
      from: relay.stack.env['PUBLIC_URL'],
      specversion: '1.0',
      datacontenttype: 'application/json',
      data: envelope,
    }));
    const byId = (a: { id: string }, b: { id: string }): number => a.id.localeCompare(b.id);
    expect(facts.toSorted(byId)).toEqual(expected.toSorted(byId));
  });
});
