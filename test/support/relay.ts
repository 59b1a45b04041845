import { App, type Start } from './app.js';
import { Client } from './client.js';
import { Receiver } from './receiver.js';
import { Stack, type Settings } from './stack.js';

/** A whole relay for one spec file: its corner of Kafka and Redis, one ingress, one worker, and endpoints to deliver to. */
export class Relay {
  private constructor(
    readonly stack: Stack,
    readonly ingress: App,
    readonly worker: App,
    readonly receiver: Receiver,
  ) {}

  /** @param workerStart how its worker is started, and its ingress, where otherwise than usual */
  static async start(
    settings: Settings = {},
    envFile?: string,
    workerStart?: Start,
    ingressStart?: Start,
  ): Promise<Relay> {
    const stack = await Stack.open(settings, envFile);
    const apps = [App.start('ingress', stack.env, ingressStart), App.start('worker', stack.env, workerStart)] as const;
    try {
      const [ingress, worker] = await Promise.all(apps);
      return new Relay(stack, ingress, worker, await Receiver.open());
    } catch (error) {
      for (const app of await Promise.allSettled(apps)) if (app.status === 'fulfilled') await app.value.stop();
      await stack.close();
      throw error;
    }
  }

  partner(name = 'acme'): Promise<Client> {
    return this.#client('partner', name);
  }

  /** @param args further arguments, such as `--partner` and an id */
  source(name = 'billing', ...args: string[]): Promise<Client> {
    return this.#client('source', name, ...args);
  }

  async #client(kind: 'partner' | 'source', ...args: string[]): Promise<Client> {
    const { clientId, clientSecret } = await this.stack.client(kind, ...args);
    return new Client(this.ingress.url, clientId, clientSecret);
  }

  async close(): Promise<void> {
    await Promise.all([this.ingress.stop(), this.worker.stop()]);
    await this.receiver.close();
    await this.stack.close();
  }
}
