import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy before Redis whose connections can hang as those to a machine that lost its power: nothing comes, nothing ends. */
export class RedisProxy {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(redisPort: number) {
    this.#server = createServer((client) => {
      const redis = connect(redisPort, '127.0.0.1');
      client.pipe(redis).pipe(client);
      for (const socket of [client, redis]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => this.#sockets.delete(socket));
      }
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** The connections of now; what connects later gets through. */
  hang(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
