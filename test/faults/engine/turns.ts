import type { App } from '../../support/app.js';
import type { Client } from '../../support/client.js';

/** The ingresses that the source posts to in turn, but for those that rest. */
export class Turns {
  readonly #resting = new Set<App>();
  #posts = 0;

  constructor(private readonly sources: readonly { readonly app: App; readonly client: Client }[]) {}

  readonly next = (): Client => {
    const serving = this.sources.filter(({ app }) => !this.#resting.has(app));
    this.#posts += 1;
    const source = serving[this.#posts % serving.length];
    if (source === undefined) throw new Error('no ingress serves');
    return source.client;
  };

  rest(app: App): void {
    this.#resting.add(app);
  }

  goOn(app: App): void {
    this.#resting.delete(app);
  }
}
