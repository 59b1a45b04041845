import type { Socket } from 'node:net';
import { kafkajsModule } from './kafkajs-module.adapter.js';

/** From the first packet of a connection to the broker's own first answers, a login among them. */
const CONNECT_MS = 5_000;

/** Of kafkajs' broker, what this needs. */
interface Broker {
  readonly nodeId: number | null;
  readonly connectionPool: {
    readonly host: string;
    readonly port: number;
    readonly pool: readonly { readonly socket?: Socket }[];
  };
  isConnected(): boolean;
  connect(): Promise<void>;
}
type Question = (asked: { nodeId: number | null; broker: Broker }) => Promise<unknown>;
interface BrokerPool {
  readonly seedBroker: Broker | undefined;
  readonly brokers: Readonly<Record<string, Broker>>;
  withBroker(question: Question): Promise<unknown>;
}

/** When a connection to an address failed last. */
const failedAt = new Map<string, number>();

/** The one to begin with: the first that has not failed, or the one whose failure is the longest ago. */
export function startingBroker(addresses: readonly string[]): string[] {
  const failed = (address: string): number => failedAt.get(address) ?? 0;
  return addresses.toSorted((a, b) => failed(a) - failed(b)).slice(0, 1);
}

const underWay = new WeakMap<Broker, Promise<void>>();

// A broker that is frozen takes connections and answers nothing. kafkajs 2.2.4 waits for it for its whole request timeout,
// takes the connection for a good one afterwards, and begins with the same broker again and again: it goes on to the next one
// only when a connection failed. So here such a connection fails, as one that is refused does.
const BrokerClass = kafkajsModule('broker')?.exports as { prototype: Broker } | undefined;
if (BrokerClass !== undefined) {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its broker below
  const { connect } = BrokerClass.prototype;
  const connectInTime = async (broker: Broker): Promise<void> => {
    const { host, port, pool } = broker.connectionPool;
    const overdue = setTimeout(() => pool[0]?.socket?.destroy(new Error(`no answer in ${CONNECT_MS} ms`)), CONNECT_MS);
    try {
      await connect.call(broker);
    } catch (error) {
      failedAt.set(`${host}:${port}`, performance.now());
      throw error;
    } finally {
      clearTimeout(overdue);
    }
  };
  BrokerClass.prototype.connect = function (this: Broker): Promise<void> {
    let connecting = underWay.get(this);
    if (connecting === undefined) {
      connecting = connectInTime(this).finally(() => underWay.delete(this));
      underWay.set(this, connecting);
    }
    return connecting;
  };
}

// What any broker knows kafkajs asks of one by chance, connected or not: of one that is connected it is known that it
// answered a moment ago.
const PoolClass = kafkajsModule('cluster/brokerPool')?.exports as { prototype: BrokerPool } | undefined;
if (PoolClass !== undefined) {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its pool below
  const { withBroker } = PoolClass.prototype;
  PoolClass.prototype.withBroker = async function (this: BrokerPool, question: Question): Promise<unknown> {
    const connected = [this.seedBroker, ...Object.values(this.brokers)].filter((one) => one?.isConnected() === true);
    const broker = connected[Math.floor(Math.random() * connected.length)];
    try {
      if (broker !== undefined) return await question({ nodeId: broker.nodeId, broker });
    } catch {
      // The others are asked.
    }
    return withBroker.call(this, question);
  };
}
