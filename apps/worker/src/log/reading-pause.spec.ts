import { Log } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { ReadingPause } from './reading-pause.js';

class Lines extends Log {
  readonly events: string[] = [];
  error = (event: string): void => void this.events.push(event);
  warn = this.error;
  info = this.error;
  debug = this.error;
}

describe('the pause of reading', () => {
  it('holds readers until there is room again, and logs each change once', async () => {
    const [log, registry] = [new Lines(), new Registry()];
    let queued = 0;
    const pause = new ReadingPause(
      { read: async () => ({ memory: { used: 0, max: 0 }, queued }) },
      { QUEUE_LIMIT: 10 },
      log,
      registry,
    );
    const gauge = async () => /^relay_reading_paused (\d)/m.exec(await registry.metrics())?.[1];
    await pause.look();
    expect([pause.end(), await gauge()]).toEqual([undefined, '0']);
    queued = 11;
    await pause.look();
    await pause.look();
    const ends = [pause.end(), pause.end()];
    expect(await gauge()).toBe('1');
    queued = 9;
    await pause.look();
    expect(log.events).toEqual(['reading.paused']);
    queued = 8;
    await pause.look();
    await ends[0];
    await ends[1];
    expect([pause.end(), log.events]).toEqual([undefined, ['reading.paused', 'reading.resumed']]);
  });

  it('stays as it was while the load cannot be read', async () => {
    let queued = 11;
    const read = async () => {
      if (queued < 0) throw new Error('away');
      return { memory: { used: 0, max: 0 }, queued };
    };
    const pause = new ReadingPause({ read }, { QUEUE_LIMIT: 10 }, new Lines(), new Registry());
    await pause.look();
    queued = -1;
    await expect(pause.look()).rejects.toThrow('away');
    expect(pause.end()).toBeDefined();
  });
});
