// The operations of an OpenAPI document as tools of the Model Context Protocol.

/** Operations that serve a browser or this program. */
const HIDDEN = new Set(['readHome', 'readPageFile', 'readOpenApi', 'enterConsole', 'readSession', 'leaveConsole']);

/**
 * Lists the tools of a document.
 * @param document OpenAPI document of the operations API
 * @param writes whether operations that change something are tools too
 */
export function toolsOf(document, writes) {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method, { operationId }]) => (writes || method === 'get') && !HIDDEN.has(operationId))
      .map(([method, operation]) => toolOf(document, path, method, operation)),
  );
}

function toolOf(document, path, method, { operationId, summary, description = '', parameters = [], requestBody }) {
  const body = requestBody?.content['application/json']?.schema;
  const members = [
    ...parameters.map(({ name, schema, required, ...rest }) => [
      name,
      { ...schema, ...(rest.description && { description: rest.description }) },
      required === true,
    ]),
    ...(body ? [['body', body, requestBody.required === true]] : []),
  ];
  const places = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.in]));
  return {
    path,
    method: method.toUpperCase(),
    places,
    tool: {
      name: operationId,
      description: [summary, description].filter(Boolean).join('. '),
      inputSchema: withDefinitions(document, {
        type: 'object',
        properties: Object.fromEntries(members.map(([name, schema]) => [name, schema])),
        required: members.filter(([, , isRequired]) => isRequired).map(([name]) => name),
        additionalProperties: false,
      }),
      annotations: { readOnlyHint: method === 'get', destructiveHint: method !== 'get', openWorldHint: false },
    },
  };
}

const COMPONENTS = '#/components/schemas/';

/** Copies the schemas that a schema refers to into it. */
function withDefinitions(document, schema) {
  const $defs = {};
  const moved = (value) => {
    if (Array.isArray(value)) return value.map(moved);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        if (key !== '$ref' || typeof member !== 'string' || !member.startsWith(COMPONENTS)) return [key, moved(member)];
        const name = member.slice(COMPONENTS.length);
        if (!(name in $defs)) {
          $defs[name] = {};
          $defs[name] = moved(document.components.schemas[name]);
        }
        return [key, `#/$defs/${name}`];
      }),
    );
  };
  const result = moved(schema);
  return Object.keys($defs).length > 0 ? { ...result, $defs } : result;
}

/**
 * Makes the request of a call.
 * @throws Error that names an argument which is unknown or missing
 */
export function requestOf({ path, method, places, tool }, args, baseUrl) {
  const { properties, required } = tool.inputSchema;
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (unknown) throw new Error(`${tool.name} has no argument ${unknown}, only ${Object.keys(properties).join(', ')}.`);
  const missing = required.find((name) => args[name] === undefined);
  if (missing) throw new Error(`${tool.name} needs the argument ${missing}.`);
  // A dot segment in a path is resolved by URL parsers, so it leads to another operation.
  const segment = (name) => {
    const value = String(args[name]);
    if (/^\.{1,2}$/.test(value) || value === '') throw new Error(`${name} cannot be ${JSON.stringify(value)}.`);
    return encodeURIComponent(value);
  };
  const url = new URL(
    path.replaceAll(/\{(\w+)\}/g, (_, name) => segment(name)),
    baseUrl,
  );
  const headers = {};
  for (const [name, place] of Object.entries(places)) {
    if (args[name] === undefined) continue;
    if (place === 'query') for (const value of [args[name]].flat()) url.searchParams.append(name, value);
    if (place === 'header') headers[name] = String(args[name]);
  }
  if (args.body === undefined) return { url, method, headers };
  return { url, method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(args.body) };
}
