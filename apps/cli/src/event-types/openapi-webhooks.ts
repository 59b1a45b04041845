import querystring from 'node:querystring';
import { EVENT_TYPE_NAME } from '@relay/events';
import { type DefinedTypes, isObject, type Path, segmentsOf, type YamlFile } from './event-types-file.js';

const SCHEMAS = ['components', 'schemas'];
/** Keywords whose value is an object of schemas by name. A name in this object may equal a keyword, but is none. */
const BY_NAME = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']);
/** Keywords whose values are data and not schemas, so a `$ref` in them is not a reference. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples']);

/**
 * Returns the webhooks of an OpenAPI 3.1 document as event types. If it has no webhooks, adds a fault and returns undefined.
 */
export function webhooksIn(file: YamlFile): DefinedTypes | undefined {
  if (file.value === undefined) return undefined;
  const { openapi, webhooks } = isObject(file.value) ? file.value : {};
  if (typeof openapi !== 'string' || !openapi.startsWith('3.1'))
    file.fault(['openapi'], 'must be the version of an OpenAPI 3.1 document');
  if (!isObject(webhooks)) {
    file.fault(['webhooks'], 'must be an object with webhooks by name');
    return undefined;
  }
  const places = new Map<string, (member?: string, ...rest: Path) => Path>();
  const definitions = Object.keys(webhooks).flatMap((name): [string, unknown][] => {
    const webhook = ['webhooks', name];
    const post = [...led(file, webhook), 'post'];
    const operation = at(file, post);
    if (!EVENT_TYPE_NAME.test(name))
      file.fault(webhook, 'a name has parts of letters, digits, _ and -, joined by dots, such as order.paid');
    else if (!isObject(operation)) file.fault(webhook, 'has no post', `${name}:`);
    else {
      const path = [...led(file, [...post, 'requestBody']), 'content', 'application/json', 'schema'];
      const { schema, components } = inlined(file, path);
      const { summary, description = '' } = operation;
      places.set(name, (member, ...rest) => {
        if (member === 'description') return [...post, summary === undefined ? 'description' : 'summary'];
        if (member !== 'schema') return webhook;
        const isComponent = rest[0] === '$defs' && components.has(rest[1] ?? '');
        return isComponent ? [...SCHEMAS, ...rest.slice(1)] : [...path, ...rest];
      });
      return [[name, { description: summary ?? description, schema }]];
    }
    return [];
  });
  const placeOf = ([, name = '', ...rest]: Path): Path => places.get(name)?.(...rest) ?? ['webhooks'];
  return { eventTypes: Object.fromEntries(definitions), placeOf };
}

/** The value at a path of the file. */
const at = ({ value }: YamlFile, path: Path): unknown => path.reduce(memberOf, value);

const memberOf = (value: unknown, segment: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, segment)
    ? (value as Readonly<Record<string, unknown>>)[segment]
    : undefined;

/** Returns the path that the `$ref` at a path points to; without a `$ref`, returns the path itself. */
function led(file: YamlFile, path: Path): Path {
  const ref = memberOf(at(file, path), '$ref');
  return typeof ref === 'string' ? (targetOf(file, path, ref, ['components']) ?? path) : path;
}

/**
 * Returns the path that a reference points to. If no value exists there below `root`, adds a fault and returns undefined.
 */
function targetOf(file: YamlFile, path: Path, ref: string, root: Path): Path | undefined {
  // Unlike `decodeURIComponent`, this does not throw if an escape is no UTF-8. The reference then finds no value and is
  // reported.
  const target = segmentsOf(querystring.unescape(ref));
  const isBelow = ref.startsWith('#/') && root.every((segment, index) => target[index] === segment);
  if (isBelow && target.length > root.length && at(file, target) !== undefined) return target;
  file.fault([...path, '$ref'], `must lead to a value below #/${root.join('/')} of this document`);
  return undefined;
}

/**
 * Copies the components that a schema uses into its `$defs`, and changes the references so that they point to the copies.
 */
function inlined(file: YamlFile, path: Path): { schema: unknown; components: ReadonlySet<string> } {
  const components = new Set<string>();
  const rewritten = (from: Path, value: unknown, isByName = false): unknown => {
    const member = (key: string, inner: unknown): unknown => {
      if (isByName) return rewritten([...from, key], inner);
      if (DATA.has(key)) return inner;
      if (key !== '$ref' || typeof inner !== 'string') return rewritten([...from, key], inner, BY_NAME.has(key));
      const target = targetOf(file, from, inner, SCHEMAS);
      if (target?.[2] !== undefined) components.add(target[2]);
      return inner.replace('#/components/schemas/', '#/$defs/');
    };
    if (Array.isArray(value)) return value.map((item, index) => rewritten([...from, String(index)], item));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, member(key, inner)]));
  };
  const schema = rewritten(path, at(file, path));
  const definitions: [name: string, schema: unknown][] = [];
  // `rewritten` may add components to the set during the loop, and the loop visits these too.
  for (const name of components) {
    const component = [...SCHEMAS, name];
    definitions.push([name, rewritten(component, at(file, component))]);
  }
  if (!isObject(schema) || components.size === 0) return { schema, components };
  const own = isObject(schema['$defs']) ? schema['$defs'] : {};
  return { schema: { ...schema, $defs: { ...own, ...Object.fromEntries(definitions) } }, components };
}
