import type { Socket } from 'node:net';
import { kafkajsModule } from './kafkajs-module.adapter.js';

/** From the first packet of a connection to the broker's first answers, the login included. */
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

/** The broker to begin with: the first that has not failed, or the one whose failure is the longest ago. */
export function startingBroker(addresses: readonly string[]): string[] {
  const failed = (address: string): number => failedAt.get(address) ?? 0;
  return addresses.toSorted((a, b) => failed(a) - failed(b)).slice(0, 1);
}

const underWay = new WeakMap<Broker, Promise<void>>();

// A frozen broker accepts connections and answers nothing. kafkajs 2.2.4 waits for its whole request timeout, keeps the
// connection as a good one, and begins with the same broker again: it tries the next broker only after a failed connection. So
// such a connection fails here, as a refused one does.
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

// kafkajs sends a request that any broker can answer to a random one, connected or not. A connected broker has answered a
// moment ago, so it is preferred.
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
