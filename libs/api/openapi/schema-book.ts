import { z } from 'zod';

export type Schema = Readonly<Record<string, unknown>>;

/** Makes JSON Schemas of zod schemas, each named one once. `input` permits unknown members; `output` has every member. */
export class SchemaBook {
  readonly #named = new Map<string, Schema>();

  constructor(
    private readonly target: 'draft-2020-12' | 'draft-7',
    /** Place of the named schemas in the document, such as `#/components/schemas/`. */
    private readonly place: string,
  ) {}

  /** The named schemas, in alphabetical order. */
  get named(): Record<string, Schema> {
    return Object.fromEntries([...this.#named].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** @throws Error if a name stands for two shapes, or a schema has no JSON Schema */
  of(schema: z.ZodType, io: 'input' | 'output'): Schema {
    const {
      $schema: _,
      $defs,
      definitions,
      ...root
    } = this.#moved(z.toJSONSchema(schema, { target: this.target, io }));
    for (const [name, shape] of Object.entries({ ...asObject($defs), ...asObject(definitions) })) {
      const known = this.#named.get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(shape))
        throw new Error(`The schema ${name} has two shapes: give what is taken and what is answered a name each`);
      this.#named.set(name, asObject(shape));
    }
    return root;
  }

  #moved(schema: unknown): Record<string, unknown> {
    const text = JSON.stringify(schema).replaceAll(/"#\/(?:\$defs|definitions)\//g, `"${this.place}`);
    return asObject(JSON.parse(text));
  }
}

const asObject = (value: unknown): Record<string, unknown> => (value ?? {}) as Record<string, unknown>;
