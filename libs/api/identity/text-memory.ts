/** Keeps `limit` entries by key; a further entry evicts the entry that was written longest ago. */
export class BoundedMemory<V> {
  readonly #entries = new Map<string, V>();

  constructor(private readonly limit: number) {}

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: V): void {
    // A Map keeps the order of insertion, so writing an entry again makes it the newest.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

/** Characters at the end of a text that are its key, 256 bits of a secret: hashing a whole token costs as much as SHA-256. */
const KEY_LENGTH = 43;
/** Characters of the longest kept text, because the memory is bounded. */
const MAX_LENGTH = 2_048;

/**
 * Keeps values by proven secret texts, which are tokens or fixed credentials. The time of a search reveals nothing about a text
 * to a caller that does not know its end.
 */
export class TextMemory<V> {
  readonly #entries: BoundedMemory<{ readonly text: string; readonly value: V }>;

  constructor(limit: number) {
    this.#entries = new BoundedMemory(limit);
  }

  get(text: string): V | undefined {
    const found = this.#entries.get(text.slice(-KEY_LENGTH));
    return found?.text === text ? found.value : undefined;
  }

  set(given: string, value: V): void {
    if (given.length > MAX_LENGTH) return;
    // The copy frees the header; otherwise V8 keeps the whole header of which the text is a part.
    const text = Buffer.from(given).toString();
    this.#entries.set(text.slice(-KEY_LENGTH), { text, value });
  }
}
