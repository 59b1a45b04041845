import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@relay/testing';
import { anEnvelope, type Client } from '../support/client.js';
import { Document } from '../support/document.js';
import { ordersPartner } from '../support/orders.js';
import { Relay } from '../support/relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';
import { skipped } from './languages.js';

/** Folder with the jars of Kafka Connect and Debezium, which `npm run test:connect` of the lab fetches. */
const jars = process.env['RELAY_CONNECT_JARS'];
const outbox = new Document('docs/operations/outbox.md');
const sinks = new Document('docs/operations/connect.md');
const USER = 'postgres';

if (jars === undefined) skipped('skipped: Kafka Connect runs by `npm run test:connect` of the lab');
else
  describe('Kafka Connect with the settings of docs/operations', () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-connect-'));
    let relay: Relay;
    let partner: Client;
    let database: Program;
    let connect: Program;
    let port: number;
    let data: string;

    const sql = (...lines: string[]): string =>
      execFileSync('psql', ['-qtA', '-h', '127.0.0.1', '-p', String(port), '-U', USER, 'shop'], {
        input: lines.join('\n'),
        encoding: 'utf8',
      });
    const insert = (...changes: readonly (readonly [string, string])[]): string =>
      sql(
        [['partner_…', partner.clientId] as const, ...changes].reduce(
          (text, [from, to]) => text.replaceAll(from, to),
          outbox.block('sql', 'INSERT INTO'),
        ),
      );
    const startConnect = async (): Promise<Program> => {
      const { env } = relay.stack;
      const topic = relay.stack.topic('order.paid').name;
      const write = (name: string, text: string): string => {
        const file = join(folder, name);
        const real = [
          ['127.0.0.1:9092', env['KAFKA_BROKERS'] ?? ''],
          ['plugin.path=/opt/connect-plugins', 'listeners=http://127.0.0.1:0'],
          ['/var/lib/connect', folder],
          ['database.port=5432', `database.port=${port}`],
          ['database.user=outbox', `database.user=${USER}`],
          ['replacement=$', `replacement=${env['KAFKA_TOPIC_PREFIX']}$`],
          ['topics=order.paid', `topics=${topic}`],
        ].reduce((all, [printed = '', ours = '']) => all.replace(printed, ours), text);
        writeFileSync(file, real);
        return file;
      };
      const files = [
        write('worker.properties', outbox.block('properties', 'bootstrap.servers')),
        write('outbox.properties', outbox.block('properties', 'name=outbox')),
        write('file.properties', sinks.block('properties', 'name=orders-to-file')),
      ];
      const main = 'org.apache.kafka.connect.cli.ConnectStandalone';
      const java = ['-XX:TieredStopAtLevel=1', '-cp', join(jars, '*'), main, ...files];
      return new Program('java', java, { OUTBOX_PASSWORD: 'trusted' });
    };
    const file = (): string => {
      const path = join(folder, 'orders.ndjson');
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    };
    const seen = (): string => connect.output.slice(-3_000);

    beforeAll(async () => {
      [relay, port] = [await Relay.start(), await freePort()];
      partner = await ordersPartner(relay, folder);

      // PostgreSQL refuses to run as root.
      const [user, group] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, USER])));
      data = mkdtempSync(join(tmpdir(), 'relay-postgres-'));
      chownSync(data, user ?? 0, group ?? 0);
      const asPostgres = [`--reuid=${user}`, `--regid=${group}`, '--clear-groups'];
      execFileSync('setpriv', [...asPostgres, 'initdb', '-A', 'trust', '-D', data], { stdio: 'pipe' });
      const options = ['wal_level=logical', 'listen_addresses=127.0.0.1', `unix_socket_directories=${data}`];
      const settings = [...options, `port=${port}`].flatMap((option) => ['-c', option]);
      database = new Program('setpriv', [...asPostgres, 'postgres', '-D', data, ...settings]);
      await database.prints(/ready to accept connections/);
      execFileSync('createdb', ['-h', '127.0.0.1', '-p', String(port), '-U', USER, 'shop']);
      sql(outbox.block('sql', 'CREATE TABLE'));
      connect = await startConnect();
    });
    afterAll(async () => {
      await connect?.end();
      await database?.end('SIGINT');
      await relay?.close();
      for (const each of [folder, data]) rmSync(each, { recursive: true });
    });

    it('takes a row of the outbox to the webhooks of the partners that it names, and no others', async () => {
      insert();
      await until('it is delivered', () => relay.receiver.at('/own').length === 1, { seen });
      const id = sql('SELECT id FROM outbox').trim();
      const [delivered] = relay.receiver.at('/own');
      expect(delivered).toMatchObject({ headers: { 'webhook-id': id } });
      expect(String(delivered?.body)).toBe(sql('SELECT payload FROM outbox').trimEnd());
      const [record] = await relay.stack.topic('order.paid').read();
      expect(record?.key).toBe('o_1');
      expect(record?.headers).toMatchObject({ ce_id: id, ce_type: 'order.paid', 'relay-partner': partner.clientId });
    });

    it('writes a malformed row as a record that becomes poison, and the next row is delivered', async () => {
      insert(["'id', id", "'id', 'order-1'"]);
      insert();
      await until('the next one is delivered', () => relay.receiver.at('/own').length === 2, { seen });
      const dlq = relay.stack.topic('order.paid.dlq');
      await until('it is poison', async () => (await dlq.count()) === 1);
      expect((await dlq.read())[0]?.headers['relay-reason']).toMatch(/^\/id .* must be a UUID/);
    });

    it('gives a row without partners an audience of nobody', async () => {
      sql('ALTER TABLE outbox ALTER partners DROP NOT NULL;');
      insert([`'${partner.clientId}'`, 'NULL']);
      const list = ['dead-letters', 'list', '--reason', 'audience_unknown'];
      const letters = async () => (await relay.stack.relay(...list)) as unknown[];
      await until('it is a dead letter', async () => (await letters()).length === 1, { seen });
    });

    it('writes all rows again without its offsets, and the worker drops the repeats', async () => {
      await connect.end();
      rmSync(join(folder, 'offsets'));
      connect = await startConnect();
      const topic = relay.stack.topic('order.paid');
      await until('all rows are written again', async () => (await topic.count()) === 8, { seen });
      await until('nothing lags', async () => (await relay.stack.lag('order.paid')) === 0);
      expect(relay.receiver.at('/own')).toHaveLength(2);
      expect(relay.receiver.at('/other')).toEqual([]);
    });

    it('copies each envelope into the file, those of the ingress as well', async () => {
      const envelope = anEnvelope({ type: 'order.paid', payload: { id: 'o_9', total: 12.5 } });
      expect(await (await relay.source()).post(envelope)).toMatchObject({ status: 202 });
      await until('the file has it', () => file().includes(`${JSON.stringify(envelope)}\n`), { seen: file });
      for (const { body } of relay.receiver.at('/own')) expect(file()).toContain(`${body.toString()}\n`);
    });
  });
