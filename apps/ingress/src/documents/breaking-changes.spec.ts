import { breakingChanges } from './breaking-changes.js';

/** A document with everything the comparison looks at. */
const aDocument = (): object => ({
  paths: {
    '/things/{id}': {
      get: {
        parameters: [{ in: 'query', name: 'limit', required: false, schema: { type: 'string', maxLength: 5 } }],
        responses: {
          200: {
            headers: { ETag: {} },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
        },
      },
      put: {
        requestBody: {
          required: false,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Input' } } },
        },
        responses: { 204: {} },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        properties: { name: { type: 'string', enum: ['a', 'b'] }, inner: { $ref: '#/components/schemas/Thing' } },
        required: ['name'],
      },
      Input: {
        type: 'object',
        properties: { name: { type: 'string', enum: ['a', 'b'] }, size: { type: 'integer', maximum: 5 } },
        required: ['name'],
      },
    },
  },
});

const PATH = '/paths/~1things~1{id}';
const LIMIT = `${PATH}/get/parameters/0`;
const BODY = `${PATH}/put/requestBody`;
const THING = '/components/schemas/Thing';
const INPUT = '/components/schemas/Input';

/** Faults of the document with another value at this JSON pointer; undefined removes what is there. */
function after(pointer: string, value: unknown): string[] {
  const document = aDocument();
  const names = pointer
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/'));
  const last = names.pop() ?? '';
  const parent = names.reduce((at, name) => Reflect.get(at, name) as object, document);
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else Reflect.set(parent, last, value);
  return breakingChanges(aDocument(), document);
}

describe('a change breaks clients when', () => {
  it.each<[string, string, unknown, RegExp]>([
    ['a path is removed', PATH, undefined, /^\/paths\/~1things~1\{id\} was removed$/],
    ['a method is removed', `${PATH}/put`, undefined, /\/put was removed$/],
    ['an answer is removed', `${PATH}/get/responses/200`, undefined, /\/responses\/200 was removed$/],
    ['a header is removed', `${PATH}/get/responses/200/headers/ETag`, undefined, /\/headers\/ETag was removed$/],
    ['a media type is removed', `${BODY}/content`, {}, /\/application~1json was removed$/],
    ['a parameter is removed', `${PATH}/get/parameters`, [], /\/query limit was removed$/],
    ['a parameter is newly required', `${LIMIT}/required`, true, /limit is newly required$/],
    [
      'a required one is added',
      `${PATH}/get/parameters/1`,
      { in: 'query', name: 'x', required: true },
      /query x is newly required$/,
    ],
    ['a body is newly required', `${BODY}/required`, true, /requestBody is newly required$/],
    ['a member of an answer is removed', `${THING}/properties/name`, undefined, /name was removed$/],
    ['a member of an answer is no longer certain', `${THING}/required`, [], /name is no longer always there$/],
    ['an answer has a new value', `${THING}/properties/name/enum`, ['a', 'b', 'c'], /name may newly be c$/],
    ['an answer no longer tells its values', `${THING}/properties/name/enum`, undefined, /no longer told$/],
    ['a member of an answer has another type', `${THING}/properties/name/type`, 'integer', /name has another type$/],
    ['a member of a request is removed', `${INPUT}/properties/size`, undefined, /size was removed$/],
    ['a member of a request is newly required', `${INPUT}/required`, ['name', 'size'], /size is newly required$/],
    ['a value is no longer taken', `${INPUT}/properties/name/enum`, ['a'], /name no longer takes b$/],
    ['a request has a smaller limit', `${INPUT}/properties/size/maximum`, 4, /size has a smaller maximum$/],
    ['a request gets a pattern', `${INPUT}/properties/name/pattern`, '^a', /name has another pattern$/],
    ['a request takes no further members', `${INPUT}/additionalProperties`, false, /takes no further members$/],
  ])('%s', (_name, pointer, value, fault) => {
    expect(after(pointer, value)).toContainEqual(expect.stringMatching(fault));
  });
});

describe('a change breaks nobody when', () => {
  it.each<[string, string, unknown]>([
    ['nothing changes', '/openapi', '3.1.0'],
    ['a path is added', '/paths/~1more', { get: {} }],
    ['an optional parameter is added', `${PATH}/get/parameters/1`, { in: 'query', name: 'x', required: false }],
    ['an answer has a further member', `${THING}/properties/size`, { type: 'integer' }],
    ['a member of an answer becomes certain', `${THING}/required`, ['name', 'inner']],
    ['an answer loses a value', `${THING}/properties/name/enum`, ['a']],
    ['a request takes a further value', `${INPUT}/properties/name/enum`, ['a', 'b', 'c']],
    ['a request asks for less', `${INPUT}/required`, []],
    ['a request has a larger limit', `${INPUT}/properties/size/maximum`, 6],
    ['a text is changed', `${PATH}/get/summary`, 'Other words'],
  ])('%s', (_name, pointer, value) => {
    expect(after(pointer, value)).toEqual([]);
  });
});
