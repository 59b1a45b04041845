import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A module of kafkajs in the require cache, from which every later `require` gets it. */
export function kafkajsModule(name: string): NodeJS.Module | undefined {
  require(`kafkajs/src/${name}`);
  return require.cache[require.resolve(`kafkajs/src/${name}`)];
}
