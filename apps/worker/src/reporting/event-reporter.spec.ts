import { PublishFailed, type OutgoingRecord } from '@relay/publishing';
import { ThrottledLog } from '@relay/telemetry';
import { EventReporter } from './event-reporter.js';

describe('the reporter of events', () => {
  it('drops a record that Kafka refuses, and sends the others again', async () => {
    const stored: string[] = [];
    const told: string[] = [];
    const log = { warn: (event: string) => void told.push(event) } as unknown as ThrottledLog;
    let isAway = true;
    const publish = ({ key }: OutgoingRecord): Promise<undefined> => {
      if (key === 'large') return Promise.reject(new PublishFailed('refused', 'too large'));
      if (isAway) return Promise.reject(new PublishFailed('unavailable', 'away'));
      stored.push(key);
      return Promise.resolve(undefined);
    };
    const reporter = new EventReporter({ publish } as never, 'relay.attempts', log, 5);
    reporter.report('large', {});
    reporter.report('small', {});
    const deadline = Date.now() + 5_000;
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await until(() => told.includes('topic.delayed'));
    isAway = false;
    await until(() => stored.length > 0);
    await reporter.close();
    expect(stored).toEqual(['small']);
  });
});
