import type { Client } from './client.js';
import { Relay } from './relay.js';
import { Servers } from './servers.js';
import type { Settings } from './stack.js';

/** The relay of this spec file, with a partner and a source: there from the first test on, and in hooks that come later. */
export let relay: Relay;
export let partner: Client;
export let source: Client;
/** Its own Kafka and Redis, after `startRelayWithServers`. */
export let servers: Servers;

const begin = async (settings: Settings, envFile?: string): Promise<void> => {
  relay = await Relay.start(settings, envFile);
  [partner, source] = await Promise.all([relay.partner(), relay.source()]);
};

/**
 * Starts the relay before the tests of this file, and ends it after them.
 * @param endOthers ends first what uses it
 */
export function startRelay(settings: Settings = {}, endOthers: () => unknown = () => undefined): void {
  beforeAll(() => begin(settings));
  afterAll(async () => {
    await endOthers();
    await relay?.close();
  });
}

/** The same with a Kafka and a Redis of its own, which the spec may freeze and kill. */
export function startRelayWithServers(settings: Settings = {}): void {
  beforeAll(async () => {
    servers = await Servers.start();
    await begin(settings, servers.envFile);
  });
  afterAll(async () => {
    await relay?.close();
    await servers?.end();
  });
}
