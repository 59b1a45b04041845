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

  async partner(name = 'acme'): Promise<Client> {
    return this.#client('partners', 'create', name);
  }

  /** @param args further arguments of `sources create`, such as `--partner` and an id */
  async source(name = 'billing', ...args: string[]): Promise<Client> {
    return this.#client('sources', 'create', name, ...args);
  }

  async #client(...args: string[]): Promise<Client> {
    const issued = (await this.stack.relay(...args)) as { clientId: string; clientSecret: string };
    return new Client(this.ingress.url, issued.clientId, issued.clientSecret);
  }

  async close(): Promise<void> {
    await Promise.all([this.ingress.stop(), this.worker.stop()]);
    await this.receiver.close();
    await this.stack.close();
  }
}
