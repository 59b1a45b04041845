import { jest } from '@jest/globals';
import fc from 'fast-check';
import { APPLIED_PARTITION, PARTITIONS } from './simulated-group.js';
import { APPLIED_WEBHOOK, WEBHOOK_IDS } from './simulated-webhooks.js';
import type { Answer } from './simulated-endpoints.js';
import { MEMBERS, type World } from './world.js';

/** One step of a history. Every step is allowed at every moment; one that makes no sense then does nothing. */
export interface Command {
  run(world: World): void | Promise<void>;
  toString(): string;
}

const command = <A extends readonly unknown[]>(
  weight: number,
  name: string,
  args: fc.Arbitrary<A>,
  run: (world: World, ...args: A) => void | Promise<void>,
): fc.WeightedArbitrary<Command> => ({
  weight,
  arbitrary: args.map((values) => ({
    run: (world: World) => run(world, ...values),
    toString: () => `${name}(${values.map((value) => JSON.stringify(value)).join(', ')})`,
  })),
});

// Mostly the same worker, partition and envelopes, which begin together: histories get further that way.
const member = fc.constantFrom(...MEMBERS, 0, 0);
const partition = fc.constantFrom(0, 1, 0, 0);
const envelope = fc.constantFrom(0, 2, 4, 0, 2, 1, 3);
const few = fc.integer({ min: 1, max: 4 });
const any = fc.nat(7);
const variant = fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) });
const line = fc.constantFrom('redis' as const, 'queueRedis' as const, 'kafka' as const);
const shard = fc.nat(2);
const answer = fc.constantFrom<Answer>('ok', 'ok', 'error', 'error', 'gone', 'unheard', 'silence');
const one = fc.tuple(member);

/** What every history is made of: records come, are read, attempted, settled and flushed. */
const work = [
  command(6, 'append', fc.tuple(envelope, variant), (world, number, kind) => world.append(number, kind)),
  command(1, 'poison', fc.tuple(partition), (world, at) => world.poison(at)),
  command(6, 'read', fc.tuple(member, partition, few), (world, m, at, count) => world.read(world.worker(m), at, count)),
  command(2, 'fetch', fc.tuple(member, partition, few), (world, m, at, count) =>
    world.worker(m).consumer.fetch(at, count),
  ),
  command(2, 'hand', fc.tuple(member, partition), (world, m, at) => world.worker(m).consumer.hand(at)),
  command(3, 'run', one, (world, m) => world.worker(m).run()),
  command(3, 'arrive', fc.tuple(member, line, shard, few), (world, m, name, of, count) =>
    world.line(m, name, of).arrive(count),
  ),
  command(5, 'step', fc.tuple(member, line, shard, few), (world, m, name, of, count) => {
    world.line(m, name, of).arrive(count);
    world.line(m, name, of).answer(count);
  }),
  command(5, 'answer', fc.tuple(any, answer), (world, index, what) => world.endpoints.answer(index, what)),
  command(2, 'answerAll', fc.tuple(answer), (world, what) => world.endpoints.answerAll(what)),
  command(4, 'flush', one, (world, m) => void world.worker(m).reader.flush()),
  command(1, 'compare', one, (world, m) => void world.worker(m).reader.flush(true)),
  command(1, 'commit', one, (world, m) => void world.worker(m).reader.commit()),
  command(3, 'pass', one, (world, m) => world.worker(m).pass()),
  command(3, 'heartbeat', one, (world, m) => world.worker(m).beat()),
  command(2, 'take', fc.tuple(member, any), (world, m, index) => world.take(world.worker(m), index)),
  command(2, 'wait', fc.tuple(fc.constantFrom(300, 1_000, 5_000)), (_world, ms) => {
    jest.advanceTimersByTime(ms);
  }),
];
const webhook = fc.constantFrom(...WEBHOOK_IDS);
const parking = [
  command(3, 'congest', fc.tuple(webhook), (world, id) => void world.congested.add(id)),
  command(3, 'relieve', fc.tuple(webhook), (world, id) => void world.congested.delete(id)),
  command(4, 'catch up', one, (world, m) => world.worker(m).catchUp()),
  command(1, 'disable', fc.tuple(webhook), (world, id) => void world.webhooks.disabled.add(id)),
  command(1, 'update', fc.tuple(webhook), (world, id) => world.webhooks.update(id)),
  command(2, 'enable', fc.tuple(webhook), (world, id) => void world.webhooks.disabled.delete(id)),
];
/** Rare: after it a history has little left to do. */
const deletion = command(1, 'delete', fc.tuple(webhook), (world, id) => void world.webhooks.deleted.add(id));
const replaying = [
  command(2, 'order', fc.tuple(webhook, few, few), (world, id, from, count) => world.order(id, from - 1, count)),
  command(2, 'look for orders', one, (world, m) => world.worker(m).lookForOrders()),
];
const reconnect = command(
  4,
  'reconnect',
  fc.tuple(member, fc.constantFrom('redis', 'queueRedis', 'both'), shard),
  (world, m, name, of) => world.worker(m).reconnect(name, world.shardAt(of)),
);
const lost = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.nat(12));
const goBack = command(3, 'goBack', fc.tuple(shard, lost), (world, of, writes) =>
  world.goBack(world.shardAt(of), writes),
);
const network = [
  reconnect,
  command(1, 'refuse', fc.tuple(member, line, shard), (world, m, name, of) => world.line(m, name, of).refuse()),
  command(1, 'timeOut', fc.tuple(member, shard), (world, m, of) => world.timeOut(world.worker(m), world.shardAt(of))),
  command(
    2,
    'cut',
    fc.tuple(member, line, shard, fc.nat(2), fc.boolean()),
    (world, m, name, of, arriving, isHalfOpen) =>
      world.cut(world.worker(m), world.line(m, name, of), arriving, isHalfOpen),
  ),
  command(1, 'arriveLate', fc.tuple(), (world) => world.arriveLate()),
];
const topics = [
  command(1, 'make the topic anew', fc.tuple(), (world) => world.makeTopicAnew()),
  command(3, 'look at topics', one, (world, m) => void world.worker(m).reader.look()),
];
const moves = [command(3, 'move', fc.tuple(partition, member), (world, at, m) => world.move(at, world.worker(m)))];
const types = [
  command(2, 'apply the type', fc.tuple(), (world) => world.apply(false)),
  command(1, 'archive the type', fc.tuple(), (world) => world.apply(true)),
  command(6, 'append of the type', fc.tuple(envelope, variant), (world, number, kind) =>
    world.append(number, kind, APPLIED_PARTITION),
  ),
  command(3, 'hear of the type', one, (world, m) => world.worker(m).hear()),
  command(3, 'join again', one, async (world, m) => {
    // Longer than a worker waits for further changes.
    jest.advanceTimersByTime(4_000);
    await world.turn();
    world.worker(m).beat();
  }),
  command(5, 'read of the type', fc.tuple(member, few), (world, m, count) =>
    world.read(world.worker(m), APPLIED_PARTITION, count),
  ),
  command(1, 'move the type', one, (world, m) => world.move(APPLIED_PARTITION, world.worker(m))),
  command(1, 'congest the type', fc.tuple(), (world) => void world.congested.add(APPLIED_WEBHOOK.id)),
];
const processes = [
  command(2, 'crash', fc.tuple(member, fc.nat(2), fc.nat(2)), (world, m, arriving, reached) =>
    world.crash(world.worker(m), arriving, reached),
  ),
  command(2, 'start', one, (world, m) => world.startAgain(world.worker(m))),
];

const ofKinds = (...all: fc.WeightedArbitrary<Command>[][]): fc.Arbitrary<Command[]> =>
  fc.oneof(...all.map((kinds) => fc.array(fc.oneof(...kinds), { maxLength: 50, size: 'max' })));

/** Few kinds of faults at a time reach deeper than all of them together. */
export const histories = ofKinds(
  work,
  [...work, reconnect, goBack],
  [...work, ...network],
  [...work, ...processes, reconnect, goBack],
  [...work, ...moves, reconnect, goBack],
  [...work, ...network, ...moves, ...processes, goBack],
  [...work, ...topics],
  [...work, ...topics, ...moves, ...processes],
  [...work, ...topics, ...parking, ...network, goBack],
  [...work, ...parking],
  [...work, ...parking, ...processes],
  [...work, ...parking, ...moves, reconnect, goBack],
  [...work, ...parking, ...network, ...processes, goBack],
  [...work, ...parking, deletion, ...processes, reconnect, goBack],
  [...work, ...parking, ...replaying],
  [...work, ...parking, ...replaying, ...processes],
  [...work, ...parking, ...replaying, deletion, ...network, ...moves, ...processes, goBack],
);

/** The second of two shards goes back, and nothing else is wrong. */
export const secondGoesBack = ofKinds([
  ...work,
  reconnect,
  command(3, 'goBack', fc.tuple(lost), (world, writes) => world.goBack(1, writes)),
]);

/** Of several shards, which go back and are cut off one by one. */
export const shardHistories = ofKinds(
  [...work, reconnect, goBack],
  [...work, ...network],
  [...work, ...moves, reconnect, goBack],
  [...work, ...processes, reconnect, goBack],
  [...work, ...network, ...moves, ...processes, goBack],
  [...work, ...topics, ...moves, reconnect, goBack],
  [...work, ...topics, ...parking, ...processes],
  [...work, ...parking, ...moves, reconnect, goBack],
  [...work, ...parking, deletion, ...network, ...processes, goBack],
  [...work, ...parking, ...replaying],
  [...work, ...replaying, ...processes, reconnect, goBack],
  [...work, ...parking, ...replaying, deletion, ...network, ...moves, ...processes, goBack],
);

/** An event type appears and is archived. Redis does not go back: a partition that it forgot waits for an operator. */
export const typeHistories = ofKinds(
  [...work, ...types],
  [...work, ...types, ...moves],
  [...work, ...types, ...network, ...moves],
  [...work, ...types, ...moves, ...processes],
  [...work, ...types, ...parking, ...moves, ...processes],
  [...work, ...types, ...parking, ...network, ...moves, ...processes],
);

/** Plays a history, then heals everything. @throws Error where a promise is broken */
export async function play(history: readonly Command[], world: World): Promise<void> {
  await world.start();
  for (const step of history) {
    world.trace(step.toString());
    await step.run(world);
    await world.turn();
    world.check();
  }
  world.trace('everything is well again');
  await heal(world);
  world.checkEnd();
}

/** Workers live, connections stand, endpoints answer, jobs are due: rounds until nothing is left to do. */
async function heal(world: World): Promise<void> {
  world.congested.clear();
  world.webhooks.disabled.clear();
  for (let round = 0; round < 60 && (round < 2 || !world.isAtRest); round += 1) {
    if (world.alive.length === 0) world.startAgain(world.worker(0));
    for (const worker of world.alive) {
      worker.hear();
      worker.reconnectAll();
      worker.beat();
      void worker.reader.look();
      await worker.run();
      for (const p of PARTITIONS) {
        worker.consumer.fetch(p, 20);
        worker.consumer.hand(p);
      }
      await worker.run();
    }
    for (let index = 0; index < 10; index += 1) for (const worker of world.alive) world.take(worker, 0);
    await world.turn();
    while (!world.endpoints.isQuiet) {
      world.endpoints.answer(0, 'ok');
      await world.turn();
    }
    for (const worker of world.alive) {
      worker.lookForOrders();
      await worker.run();
      worker.catchUp();
      await worker.run();
      void worker.reader.flush();
      await worker.run();
    }
    world.check();
    jest.advanceTimersByTime(1_000);
    await world.turn();
  }
}
