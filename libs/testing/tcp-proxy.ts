import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy before the ports of several processes, which get new connections in turn; its connections can be cut. */
export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #turn = 0;

  private constructor(
    /** Ports of the processes that get new connections; a change moves no open connection. */
    public ports: readonly number[],
  ) {
    this.#server = createServer((client) => {
      const server = connect(this.ports[this.#turn++ % this.ports.length] as number, '127.0.0.1');
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
        socket.on('close', () => {
          client.destroy();
          server.destroy();
        });
      }
    });
  }

  static async before(...ports: readonly number[]): Promise<TcpProxy> {
    const proxy = new TcpProxy(ports);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }
}
