import { kafkajsModule } from './kafkajs-module.adapter.js';

// kafkajs 2.2.4 takes it for final when no broker names the coordinator of a group, and a consumer that meets it crashes
// for good. It is so for a moment whenever the brokers that answer are just being restarted, so it is repeated like
// every other answer of a broker that is not ready (tulios/kafkajs#1630, #1445, open).
const errors = kafkajsModule('errors')?.exports as Record<string, { prototype: object }> | undefined;
const found = errors?.['KafkaJSGroupCoordinatorNotFound'];
if (found !== undefined)
  Object.defineProperty(found.prototype, 'retriable', {
    get: () => true,
    set() {
      // The constructor sets it to false on each instance.
    },
  });
