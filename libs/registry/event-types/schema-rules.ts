import { excerpt, type JsonFault, jsonPointer } from '@relay/json';

export type JsonObject = Readonly<Record<string, unknown>>;

const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
/** Most items of a list that must have no item twice: ajv compares each with each. */
const MAX_UNIQUE = 256;
/**
 * Most rules that may apply to one value of a payload. A subschema counts as one, ten names or choices in a list as one, and a
 * pattern as its instructions in RE2. A payload of 900 KiB, the longest by MAX_ENVELOPE_BYTES, has at most some 460,000 values, so
 * that its check takes at most some tens of millions of steps.
 */
const MAX_RULES = 100;
const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** Keywords with schemas that apply to the same value, and to its members or items, by the form that holds them. */
const IN_PLACE = { one: ['not', 'if', 'then', 'else'], list: ['allOf', 'anyOf', 'oneOf'], map: ['dependentSchemas'] };
const BELOW = {
  one: ['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'items', 'contains', 'unevaluatedItems'],
  list: ['prefixItems'],
  map: ['properties', 'patternProperties'],
};
const STORED = ['$defs', 'definitions'];
const PLAIN = new Set(
  `$schema $id $anchor $comment $ref $defs definitions title description default examples deprecated readOnly writeOnly format
  contentEncoding contentMediaType contentSchema type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
  maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required
  dependentRequired`.split(/\s+/),
);
const KNOWN = new Set([...PLAIN, ...[IN_PLACE, BELOW].flatMap((each) => Object.values(each).flat())]);

interface Rules {
  /** Formats that are checked. */
  readonly formats: readonly string[];
  /** Returns the steps that a pattern takes for each character. Throws for one that the linear matcher does not take. */
  readonly costOf: (pattern: string) => number;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);

/** Returns the faults of a schema by the rules that bound the check of a payload, and its keywords and formats without effect. */
export function schemaFaults(schema: JsonObject, rules: Rules): { faults: JsonFault[]; unknown: string[] } {
  const survey = new SchemaSurvey(schema, rules);
  if (JSON.stringify(schema).length > MAX_BYTES) survey.refuse([], 'a schema has at most 64 KiB');
  else survey.look(schema, []);
  if (survey.faults.length === 0) survey.check();
  return { faults: survey.faults, unknown: [...survey.unknown] };
}

class SchemaSurvey {
  readonly faults: JsonFault[] = [];
  readonly unknown = new Set<string>();
  readonly #paths = new Map<JsonObject, readonly string[]>();
  readonly #weights = new Map<JsonObject, number>();
  readonly #open = new Set<JsonObject>();
  readonly #recursive = new Map<JsonObject, boolean>();
  readonly #costs = new Map<string, number>();

  constructor(
    private readonly root: JsonObject,
    private readonly rules: Rules,
  ) {}

  refuse(path: readonly string[], detail: string): void {
    this.faults.push({ pointer: jsonPointer([...path]), detail: `${detail}.` });
  }

  /** Finds this schema and all schemas in it, and collects the unknown keywords, which have no effect. */
  look(schema: unknown, path: readonly string[]): void {
    if (typeof schema === 'boolean') return;
    if (!isObject(schema)) return this.refuse(path, 'a schema is an object, true or false');
    if (path.length > MAX_DEPTH) return this.refuse(path, `a schema has at most ${MAX_DEPTH} levels`);
    this.#paths.set(schema, path);
    for (const name of Object.keys(schema)) if (!KNOWN.has(name)) this.unknown.add(name.slice(0, 100));
    for (const [below, at] of schemasIn(schema)) this.look(below, [...path, ...at]);
  }

  #lookAtRules(schema: JsonObject, path: readonly string[]): void {
    const { $ref: ref, $schema: draft, format, pattern, uniqueItems, maxItems } = schema;
    if (draft !== undefined && draft !== DRAFT) this.refuse([...path, '$schema'], `the draft must be ${DRAFT}`);
    if ('$id' in schema && path.length > 0) this.refuse([...path, '$id'], 'only the whole schema has an $id');
    for (const name of ['$dynamicRef', '$recursiveRef'])
      if (name in schema) this.refuse([...path, name], `${name} is not supported: use $ref`);
    if (ref !== undefined && this.#target(ref) === undefined)
      this.refuse(
        [...path, '$ref'],
        typeof ref === 'string' && !ref.startsWith('#')
          ? 'a reference begins with #: the relay fetches no other document'
          : `${typeof ref === 'string' ? excerpt(ref) : 'it'} leads to no schema`,
      );
    if (entriesOf(schema['properties']).some(([name]) => name === '__proto__'))
      this.refuse([...path, 'properties', '__proto__'], 'a member named __proto__ cannot be checked');
    if (typeof format === 'string' && !this.rules.formats.includes(format))
      this.unknown.add(`format ${format.slice(0, 100)}`);
    if (typeof pattern === 'string') this.#assertPattern(pattern, [...path, 'pattern']);
    for (const [name] of entriesOf(schema['patternProperties']))
      this.#assertPattern(name, [...path, 'patternProperties', name]);
    if (uniqueItems === true && !(typeof maxItems === 'number' && maxItems <= MAX_UNIQUE))
      this.refuse([...path, 'uniqueItems'], `uniqueItems needs maxItems of at most ${MAX_UNIQUE} beside it`);
  }

  #assertPattern(pattern: string, path: readonly string[]): void {
    try {
      this.#costs.set(pattern, this.rules.costOf(pattern));
    } catch {
      this.refuse(path, `${excerpt(pattern)} is no pattern that is matched in linear time (RE2)`);
    }
  }

  #target(ref: unknown): unknown {
    if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined;
    const fragment = decodeURIComponent(ref.slice(1));
    if (fragment === '') return this.root;
    if (!fragment.startsWith('/')) return [...this.#paths.keys()].find(({ $anchor }) => $anchor === fragment);
    let found: unknown = this.root;
    for (const part of fragment.slice(1).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      found =
        typeof found === 'object' && found !== null && Object.hasOwn(found, name)
          ? Reflect.get(found, name)
          : undefined;
    }
    return isObject(found) || typeof found === 'boolean' ? found : undefined;
  }

  check(): void {
    for (const [schema, path] of this.#paths) this.#lookAtRules(schema, path);
    if (this.faults.length > 0) return;
    const weight = this.#weigh(this.root);
    if (weight > MAX_RULES && this.faults.length === 0)
      this.refuse(
        [],
        `more than ${MAX_RULES} rules apply to one value: use fewer alternatives, names or patterns in one place`,
      );
  }

  /** Returns the most rules that apply to one value at or below the value that the schema applies to. */
  #weigh(schema: unknown): number {
    // A recursive schema counts once: see `#isRecursive`.
    if (!isObject(schema) || this.#open.has(schema)) return 0;
    const known = this.#weights.get(schema);
    if (known !== undefined) return known;
    this.#open.add(schema);
    const here = this.#inPlace(schema, new Set());
    let most = here.reduce((sum, each) => sum + this.#costOf(each), 0);
    for (const group of groupsOf(here)) {
      // Otherwise the rules double with each level of the payload.
      if (group.filter((each) => this.#isRecursive(each)).length > 1)
        this.refuse(this.#paths.get(schema) ?? [], 'two recursive references apply to the same member or item');
      most = Math.max(
        most,
        group.reduce<number>((sum, each) => sum + this.#weigh(each), 0),
      );
    }
    this.#open.delete(schema);
    this.#weights.set(schema, most);
    return most;
  }

  /** Whether the schema leads to one that leads to itself. */
  #isRecursive(schema: unknown): boolean {
    if (!isObject(schema)) return false;
    const known = this.#recursive.get(schema);
    if (known !== undefined) return known;
    // While it is looked at, whoever leads to it is part of a circle.
    this.#recursive.set(schema, true);
    const parts = [...schemasIn(schema, []).map(([part]) => part), this.#target(schema['$ref'])];
    const found = parts.filter((part) => this.#isRecursive(part)).length > 0;
    this.#recursive.set(schema, found);
    return found;
  }

  #costOf(schema: JsonObject): number {
    const lists = [schema['required'], schema['enum']].map((list) => listOf(list).length);
    const maps = [schema['properties'], schema['dependentRequired']].map((map) => entriesOf(map).length);
    const patterns = [...entriesOf(schema['patternProperties']).map(([name]) => name), String(schema['pattern'])];
    const steps = patterns.reduce((sum, pattern) => sum + (this.#costs.get(pattern) ?? 0), 0);
    return 1 + Math.floor([...lists, ...maps].reduce((sum, count) => sum + count) / 10) + steps;
  }

  /** The schemas that apply to the same value as this one. */
  #inPlace(schema: unknown, seen: Set<unknown>): JsonObject[] {
    if (!isObject(schema)) return [];
    if (seen.has(schema)) {
      if (this.faults.length === 0)
        this.refuse(this.#paths.get(schema) ?? [], 'a reference leads back to itself at the same value');
      return [];
    }
    const within = new Set([...seen, schema]);
    const { one, list, map } = IN_PLACE;
    const parts = [
      ...one.map((name) => schema[name]),
      ...list.flatMap((name) => listOf(schema[name])),
      ...map.flatMap((name) => entriesOf(schema[name]).map(([, part]) => part)),
      ...('$ref' in schema ? [this.#target(schema['$ref'])] : []),
    ];
    const found = [schema];
    for (const part of parts) {
      found.push(...this.#inPlace(part, within));
      // More schemas than the bound are refused, so no doubling is followed to its end.
      if (found.length > MAX_RULES) break;
    }
    return found;
  }
}

/** The schemas below a schema, each with its path. */
function schemasIn(schema: JsonObject, stored: readonly string[] = STORED): [unknown, string[]][] {
  const one = [...IN_PLACE.one, ...BELOW.one].flatMap((name): [unknown, string[]][] =>
    name in schema ? [[schema[name], [name]]] : [],
  );
  const lists = [...IN_PLACE.list, ...BELOW.list].flatMap((name) =>
    listOf(schema[name]).map((part, at): [unknown, string[]] => [part, [name, String(at)]]),
  );
  const maps = [...IN_PLACE.map, ...BELOW.map, ...stored].flatMap((name) =>
    entriesOf(schema[name]).map(([key, part]): [unknown, string[]] => [part, [name, key]]),
  );
  return [...one, ...lists, ...maps];
}

/** Returns, for each member and item, the schemas that apply to it while all of `here` apply to the value that contains it. */
function groupsOf(here: readonly JsonObject[]): unknown[][] {
  const all = (name: string): unknown[] => here.flatMap((each) => (name in each ? [each[name]] : []));
  const patterns = here.flatMap((each) => entriesOf(each['patternProperties']).map(([, part]) => part));
  const others = [...patterns, ...all('additionalProperties'), ...all('unevaluatedProperties')];
  const names = new Set(here.flatMap((each) => entriesOf(each['properties']).map(([name]) => name)));
  const members = [...names].map((name) =>
    here
      .map((each) => {
        const own = each['properties'];
        return isObject(own) && Object.hasOwn(own, name) ? own[name] : each['additionalProperties'];
      })
      .concat(patterns, all('unevaluatedProperties')),
  );
  const rest = [...all('contains'), ...all('unevaluatedItems')];
  const first = here.flatMap((each) => listOf(each['prefixItems']));
  return [...members, others, [...first, ...rest], [...all('items'), ...rest], all('propertyNames')].map((group) =>
    group.filter((part) => isObject(part)),
  );
}
