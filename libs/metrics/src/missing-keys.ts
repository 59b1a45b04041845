import { Gauge, type Registry } from 'prom-client';

/** Registers how many keys of the registry a process lacks. */
export function registerMissingKeys(registry: Registry, keyring: { readonly missing: ReadonlySet<string> }): void {
  registry.registerMetric(
    new Gauge({
      name: 'relay_keys_missing',
      help: 'Registered encryption keys that ENCRYPTION_KEYS of this process lacks.',
      registers: [],
      collect() {
        this.set(keyring.missing.size);
      },
    }),
  );
}
