import { connect as connectPlain } from 'node:net';
import { connect as connectSecured } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';

export type Connector = NonNullable<RedisOptions['Connector']>;
type ConnectorClass = new (options: never) => AbstractConnector;
type Tell = Parameters<AbstractConnector['connect']>[0];
export type Connected = Awaited<ReturnType<AbstractConnector['connect']>>;

/** A connection that is not known to lead to a primary by then is given up: a replica that loads its data says nothing for minutes. */
const KNOWN_WITHIN_MS = 10_000;

/** The connection leads to a server that takes no writes. The relay ends it and asks for the way again. */
export class NotPrimaryError extends Error {
  override readonly name = 'NotPrimaryError';
}

/**
 * Makes a connector of ioredis accept a primary only. An address may lead to a replica, before it was promoted or after its
 * primary was replaced; without this the connection would count as ready and refuse every write for as long as it stays open.
 */
export function primaryOnly(Base: ConnectorClass): Connector {
  class PrimaryOnly extends (Base as new (options: unknown) => AbstractConnector) {
    #timer: NodeJS.Timeout | undefined;

    override async connect(tell: Tell): Promise<Connected> {
      // Not by `super`: it is abstract in the class that all of them have in common.
      const stream = await (Base.prototype as AbstractConnector).connect.call(this, tell);
      this.#timer = setTimeout(() => {
        stream.destroy(
          new NotPrimaryError('Redis has not said within 10 s that it takes writes: it may load its data'),
        );
      }, KNOWN_WITHIN_MS);
      stream.once('close', () => clearTimeout(this.#timer));
      return stream;
    }

    /** ioredis calls it with the fields of INFO before it takes commands, and connects again when the answer is false. */
    override check(info: { readonly role?: string }): boolean {
      clearTimeout(this.#timer);
      const isPrimary = super.check(info) && info.role !== 'slave';
      if (!isPrimary) this.stream.destroy(new NotPrimaryError('Redis is a replica here, and takes no writes'));
      return isPrimary;
    }
  }
  return PrimaryOnly;
}

/** Opens a connection as the options of ioredis say. */
export function open({ host, port, path, family, tls }: RedisOptions): Connected {
  const place = path ? { path } : { host, port: port ?? 6_379, ...(family && { family }) };
  return tls ? connectSecured({ ...place, ...tls }) : connectPlain(place);
}

/** The way to the address of a URL. */
export class AddressConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: RedisOptions) {
    super(options.disconnectTimeout ?? 2_000);
    this.#options = options;
  }

  override async connect(): Promise<Connected> {
    this.connecting = true;
    this.stream = open(this.#options);
    this.stream.once('error', (error: Error) => {
      this.firstError = error;
    });
    return this.stream;
  }
}
