import { defaultPublisherSettings } from './kafka-publisher.adapter.js';

it('a record is answered within the 8 s that the port promises, a look for its topic included', () => {
  const { deadlineMs, lookMs } = defaultPublisherSettings;
  expect(deadlineMs + lookMs).toBeLessThanOrEqual(8_000);
});
