import { freePort, SpanCollector } from '@relay/testing';
import { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { Stack } from '../support/stack.js';
import { until } from '../support/until.js';

/** Tells which modules of OpenTelemetry a process loads, however it does. */
const TELL_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(name, context, next) {
      const found = next(name, context);
      const [, loaded] = /node_modules\\/@opentelemetry\\/([^/]+)/.exec(found.url) ?? [];
      if (loaded !== undefined) console.log('loaded ' + loaded);
      return found;
    },
  });`)}`;

describe('with a collector that', () => {
  it.each([
    ['hangs', 'hang', /1500 ms/],
    ['answers 500', 500, /500 Internal Server Error/],
    ['is not there', undefined, /ECONNREFUSED/],
  ] as const)(
    '%s, envelopes are delivered, the loss is told, and processes stop in time',
    async (_, answer, reason) => {
      const collector = await SpanCollector.open();
      collector.answer = answer ?? 200;
      const url = answer === undefined ? `http://127.0.0.1:${await freePort()}` : collector.url;
      const relay = await Relay.start({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
      try {
        const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
        await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/all'), apiKey: 'k' });
        const sent = Array.from({ length: 100 }, () => anEnvelope({ type: 'task.created' }));
        const { json } = await source.request('POST', '/deliveries/batch', sent);
        expect(new Set(json['results']?.map(({ status }) => status))).toEqual(new Set(['accepted']));
        await until('all are delivered', () => relay.receiver.delivered('/all').length === 100);
        const faults = () =>
          [relay.ingress, relay.worker].map(({ log }) => log.filter((line) => line.includes('"tracing.fault"')));
        if (answer !== 'hang')
          await until('both tell of it', () => faults().every(({ length }) => length > 0), {
            withinMs: 25_000,
            seen: faults,
          });
        expect(await Promise.all([relay.ingress.stop(), relay.worker.stop()])).toEqual([0, 0]);
        for (const lines of faults()) expect(lines).toEqual([expect.stringMatching(reason)]);
        expect(relay.worker.log.join()).not.toContain('stop_failed');
      } finally {
        await relay.close();
        await collector.close();
      }
    },
  );
});

describe('without a collector', () => {
  it.each([
    ['nothing of the SDK is loaded', {}, false],
    ['it would be seen', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, true],
  ])('%s', async (_, env, isLoaded) => {
    const stack = await Stack.open(env);
    const roles = ['ingress', 'worker', 'operations'] as const;
    const apps = await Promise.all(
      roles.map((role) => App.launch(role, stack.env, { nodeOptions: ['--import', TELL_MODULES] })),
    );
    try {
      for (const app of apps) await app.ready();
      const loaded = apps.map(({ log }) => log.some((line) => line === 'loaded sdk-trace'));
      expect(loaded).toEqual([isLoaded, isLoaded, false]);
      // That of prom-client, which no process is without: modules are seen.
      for (const { log } of apps) expect(log).toContain('loaded api');
    } finally {
      await Promise.all(apps.map((app) => app.stop()));
      await stack.close();
    }
  });

  it('a sender’s trace goes on to the endpoint unchanged', async () => {
    const relay = await Relay.start();
    try {
      const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
      await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/off'), apiKey: 'k' });
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      await source.post(anEnvelope({ type: 'task.created' }), { traceparent });
      const { headers } = await until('it is delivered', () => relay.receiver.at('/off')[0]);
      const [record] = await relay.stack.topic('task.created').read();
      expect([record?.headers['traceparent'], headers['traceparent']]).toEqual([traceparent, traceparent]);
    } finally {
      await relay.close();
    }
  });
});
