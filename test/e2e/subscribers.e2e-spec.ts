import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { confluentKafka, franzGo, kafkaClassPath, skipped } from '../documents/languages.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Document } from '../support/document.js';
import { ordersPartner } from '../support/orders.js';
import { Relay } from '../support/relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

const page = new Document('docs/integrate/kafka.md');
const [python, java, go] = [confluentKafka(), kafkaClassPath(), franzGo()];

interface Subscriber {
  readonly language: string;
  /** Words that only this block of its language has. */
  readonly words: string;
  /** What is missing for it here; undefined when nothing is. */
  readonly lacks: string | undefined;
  /** Starts the code; the folder is its own. */
  readonly start: (code: string, folder: string) => Program;
}

const subscribers: Subscriber[] = [
  { language: 'js', words: 'kafkajs', lacks: undefined, start: (code) => Program.module(code) },
  {
    language: 'python',
    words: 'confluent_kafka',
    lacks: python === undefined ? 'no confluent-kafka' : undefined,
    start: (code) => new Program('python3', ['-c', code], { PYTHONPATH: python ?? '' }),
  },
  {
    language: 'java',
    words: 'KafkaConsumer',
    lacks: java === undefined ? 'no java with a compiler, or no jars of Kafka' : undefined,
    start: (code, folder) => {
      const file = join(folder, 'Tasks.java');
      writeFileSync(file, code);
      // Java 17 takes the encoding of its output from the locale, and a machine of CI may have none.
      const utf8 = ['file', 'sun.stdout', 'stdout'].map((name) => `-D${name}.encoding=UTF-8`);
      return new Program('java', ['-XX:TieredStopAtLevel=1', ...utf8, '-cp', java ?? '', file]);
    },
  },
  {
    language: 'go',
    words: 'kgo.NewClient',
    lacks: go === undefined ? 'no go, or no franz-go' : undefined,
    start: (code, folder) => {
      cpSync(go ?? '', folder, { recursive: true });
      rmSync(join(folder, 'library.go'));
      writeFileSync(join(folder, 'main.go'), code);
      const program = join(folder, 'subscriber');
      execFileSync('go', ['build', '-o', program, '.'], { cwd: folder, stdio: 'pipe' });
      return new Program(program, []);
    },
  },
];

describe('a subscriber of docs/integrate/kafka.md', () => {
  let relay: Relay;
  let partner: Client;
  const envelopes = [1, 2, 3].map((n) => anEnvelope({ payload: { text: `Grüße ${n}` } }));
  beforeAll(async () => {
    // One partition: what was sent before has come before.
    relay = await Relay.start({ KAFKA_TOPIC_PARTITIONS: '1' });
    partner = await relay.partner();
    const [other, source] = await Promise.all([relay.partner('other'), relay.source()]);
    const audiences = [other.clientId, `${other.clientId},${partner.clientId}`, undefined];
    for (const [n, envelope] of envelopes.entries()) {
      const audience = audiences[n];
      const answer = await source.post(envelope, audience === undefined ? {} : { 'relay-partner': audience });
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
    }
  });
  afterAll(() => relay.close());

  it.each(subscribers.filter(({ lacks }) => lacks === undefined))(
    'in $language prints what is for everybody and for this partner, as it was sent',
    async ({ language, words, start }) => {
      const { env } = relay.stack;
      const code = [
        ['127.0.0.1:9092', env['KAFKA_BROKERS'] ?? ''],
        ['partner_…', partner.clientId],
        ['task.created', `${env['KAFKA_TOPIC_PREFIX']}task.created`],
        ['my-service', `${env['KAFKA_TOPIC_PREFIX']}${language}`],
      ].reduce((text, [printed = '', ours = '']) => text.replaceAll(printed, ours), page.block(language, words));
      const folder = mkdtempSync(join(tmpdir(), 'relay-subscriber-'));
      const program = start(code, folder);
      try {
        const [other, own, all] = envelopes;
        await program.prints(new RegExp(`^${all?.id} `, 'm'));
        for (const envelope of [own, all])
          expect(program.output).toContain(`${envelope?.id} ${JSON.stringify(envelope)}\n`);
        expect(program.output).not.toContain(other?.id);
      } finally {
        await program.end();
        rmSync(folder, { recursive: true });
      }
    },
  );

  for (const { language, lacks } of subscribers) if (lacks !== undefined) skipped(`in ${language}, skipped: ${lacks}`);
});

const producing = new Document('docs/operations/produce.md');
const producers = subscribers.flatMap(({ language, lacks, start }) =>
  producing.blocks(language).map((code) => ({ language, lacks, start, code })),
);

describe('a producer of docs/operations/produce.md', () => {
  let relay: Relay;
  let partner: Client;
  const folder = mkdtempSync(join(tmpdir(), 'relay-producer-'));
  beforeAll(async () => {
    relay = await Relay.start();
    partner = await ordersPartner(relay, folder);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await relay.close();
  });

  it('is there in Python and in Java', () => {
    expect(producers.map(({ language }) => language)).toEqual(['python', 'java']);
  });

  it.each(producers.filter(({ lacks }) => lacks === undefined))(
    'in $language has its envelope delivered once to the partner it names, and what is wrong with others shown',
    async ({ start, code }) => {
      const { env } = relay.stack;
      const id = randomUUID();
      const topic = relay.stack.topic('order.paid');
      /** Runs the code with some of its text changed, until the worker has settled the record. */
      const produce = async (...changes: readonly (readonly [string, string])[]): Promise<void> => {
        const given = [
          ['TOPIC = "', `TOPIC = "${env['KAFKA_TOPIC_PREFIX']}`],
          ['127.0.0.1:9092', env['KAFKA_BROKERS'] ?? ''],
          ['partner_…', partner.clientId],
          ['6f1e2d3c-4b5a-4968-8776-655443322110', id],
        ] as const;
        const changed = [...changes, ...given].reduce((text, [from, to]) => text.replaceAll(from, to), code);
        const before = await topic.count();
        const program = start(changed, folder);
        expect([await program.ended(), program.output]).toEqual([0, expect.not.stringContaining('Exception')]);
        expect(await topic.count()).toBe(before + 1);
        await until('nothing lags', async () => (await relay.stack.lag('order.paid')) === 0);
      };
      const got = (path = '/own') => relay.receiver.at(path).filter(({ headers }) => headers['webhook-id'] === id);

      await produce();
      await until('it is delivered', () => got().length === 1);
      const sent = { id, type: 'order.paid', payload: { id: 'o_1', total: 12.5 } };
      expect(JSON.parse(String(got()[0]?.body))).toEqual(sent);
      const record = (await topic.read()).find(({ headers }) => headers['ce_id'] === id);
      expect(record).toMatchObject({ key: 'o_1', headers: { ce_type: 'order.paid', ce_specversion: '1.0' } });

      await produce();
      await produce(['12.5', '13']);
      const conflicts = ['dead-letters', 'list', '--reason', 'id_conflict'];
      expect(await relay.stack.relay(...conflicts)).toContainEqual(expect.objectContaining({ envelopeId: id }));
      await produce(['6f1e2d3c-4b5a-4968-8776-655443322110', 'order-1']);
      const poison = (await relay.stack.topic('order.paid.dlq').read()).at(-1);
      expect(poison?.headers).toMatchObject({
        'relay-reason': expect.stringMatching(/^\/id .* must be a UUID/),
        'relay-topic': topic.name,
      });
      expect(got()).toHaveLength(1);
      expect(got('/other')).toEqual([]);
    },
  );

  for (const { language, lacks } of producers) if (lacks !== undefined) skipped(`in ${language}, skipped: ${lacks}`);
});
