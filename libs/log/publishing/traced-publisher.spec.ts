import { Tracing, type Span } from '@relay/telemetry';
import { MemoryPublisher } from '@relay/testing';
import { PublishFailed } from './publisher.port.js';
import { TracedPublisher } from './kafka-publisher.adapter.js';

const SPAN = '00-4bf92f3577b34da6a3ce929d0e0e4736-aaaaaaaaaaaaaaaa-01';

/** Keeps how spans began and ended. */
class ToldTracing extends Tracing {
  readonly told: unknown[] = [];

  start(name: string, kind: string, parent: string | undefined): Span {
    this.told.push([name, kind, parent]);
    return { traceparent: SPAN, end: (_attributes, fault) => this.told.push(fault ?? 'ended') };
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

function open() {
  const [log, tracing] = [new MemoryPublisher(), new ToldTracing()];
  log.createTopic('t');
  const headers: Record<string, string> = { traceparent: `${SPAN.slice(0, 36)}bbbbbbbbbbbbbbbb-01`, ce_id: 'e' };
  return { log, tracing, publisher: new TracedPublisher(log, tracing), headers };
}
const aRecord = (headers: Record<string, string>) => ({ topic: 't', key: 'k', value: Buffer.from('v'), headers });

describe('TracedPublisher', () => {
  it('names its span in the record, and changes nothing else', async () => {
    const { log, tracing, publisher, headers } = open();
    await publisher.publish(aRecord(headers));
    expect(log.read('t')).toMatchObject([{ key: 'k', headers: { ce_id: 'e', traceparent: SPAN } }]);
    expect(tracing.told).toEqual([['send t', 'producer', headers['traceparent']], 'ended']);
  });

  it('ends the span with the reason of a failure', async () => {
    const { log, tracing, publisher, headers } = open();
    log.failure = new PublishFailed('overloaded', 'too much');
    await expect(publisher.publish(aRecord(headers))).rejects.toBe(log.failure);
    expect(tracing.told[1]).toBe('overloaded');
  });

  it('adds no span for a record without a trace', async () => {
    const { log, tracing, publisher } = open();
    await publisher.publish(aRecord({ other: 'x' }));
    expect(log.read('t')).toMatchObject([{ headers: { other: 'x' } }]);
    expect(tracing.told).toEqual([]);
  });
});
