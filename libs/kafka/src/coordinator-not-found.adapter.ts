import { kafkajsModule } from './kafkajs-module.adapter.js';

// For kafkajs 2.2.4 the error that no broker names the coordinator of a group is final, and the consumer crashes for good. It
// occurs for a moment whenever brokers restart, so it is made retriable like every other error of a broker that is not ready
// (tulios/kafkajs#1630, #1445, open).
const errors = kafkajsModule('errors')?.exports as Record<string, { prototype: object }> | undefined;
const found = errors?.['KafkaJSGroupCoordinatorNotFound'];
if (found !== undefined)
  Object.defineProperty(found.prototype, 'retriable', {
    get: () => true,
    set() {
      // The constructor sets it to false on each instance.
    },
  });
