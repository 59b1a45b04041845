import { readBinaryCloudEvent, readCloudEvent, readEnvelope } from './index.js';

const ID = '6F1e2d3c-4b5a-4968-8776-655443322110';
const DATA = '{ "z": 1.10, "id": "0b7c1f52-3d0e-4c5a-9a51-3f6e0c1d2b4a", "a": 12345678901234567890 }';
const event = (members: string, data = DATA): Buffer =>
  Buffer.from(`{"specversion":"1.0","source":"/core","type":"plan.created","id":"${ID}"${members},"data" : ${data} }`);
const attributes = { specversion: '1.0', source: '/core', type: 'plan.created', id: ID };
const plain = readEnvelope(Buffer.from(`{"type":"plan.created","payload":${DATA},"id":"${ID}"}`), []);

describe.each([
  ['structured', readCloudEvent(event(',"time":"2030-01-01T00:00:00Z","ext":"x"'), [])],
  ['binary', readBinaryCloudEvent({ ...attributes, ext: 'x' }, Buffer.from(DATA), [])],
])('a CloudEvent in %s mode', (_mode, result) => {
  it("becomes an envelope with the data's own bytes", () => {
    if (!result.ok) throw new Error(JSON.stringify(result.errors));
    expect(result.envelope.bytes.toString()).toBe(`{"id":"${ID}","type":"plan.created","payload":${DATA}}`);
  });

  it('has the content of the envelope it means', () => {
    if (!result.ok || !plain.ok) throw new Error('not read');
    const { bytes: _, event: origin, ...facts } = result.envelope;
    expect(origin?.source).toBe('/core');
    expect(plain.envelope).toMatchObject(facts);
  });
});

const errorsOf = (result: ReturnType<typeof readCloudEvent>): unknown =>
  result.ok ? 'read' : result.errors.map(({ pointer, detail }) => `${pointer} ${detail}`);

describe('a CloudEvent in structured mode is refused', () => {
  it.each([
    ['no JSON', '{', ['The text ends where a member name in double quotes should be at byte 1.']],
    ['an array', '[]', ['A CloudEvent must be a JSON object.']],
    ['another version', event('').toString().replace('1.0', '0.3'), ['/specversion specversion must be 1.0.']],
    ['no source', event('').toString().replace('"source":"/core",', ''), ['/source source must be a text.']],
    ['an empty source', event('').toString().replace('/core', ''), ['/source source is empty.']],
    [
      'data that is no JSON',
      event(',"datacontenttype":"text/xml"').toString(),
      ['/datacontenttype datacontenttype must be JSON, or left out.'],
    ],
    [
      'data in base64 only',
      event('').toString().replace('"data"', '"data_base64"'),
      ['/data_base64 data_base64 is not accepted: send the payload as JSON in data.'],
    ],
    ['a time that is none', event(',"time":"yesterday"').toString(), ['/time time must be a time of RFC 3339.']],
    ['data that is no object', event('', '[]').toString(), ['/data payload must be a JSON object.']],
    ['an id that is no UUID', event('').toString().replace(ID, '7'), ['/id id must be a UUID.']],
    ['an unknown type', event('').toString().replace('plan.created', 'x'), ['/type x is no event type.']],
  ])('with %s', (_name, text, errors) => {
    expect(errorsOf(readCloudEvent(Buffer.from(text), []))).toEqual(
      errors.map((error) => expect.stringContaining(error)),
    );
  });
});

describe('a CloudEvent in binary mode is refused', () => {
  it.each([
    ['no id', { id: undefined }, DATA, ['Header ce-id: id must be a text.']],
    ['an id that is no UUID', { id: '7' }, DATA, ['Header ce-id: id must be a UUID']],
    ['a body that is no object', {}, '7', [' payload must be a JSON object.']],
    [
      'a task without its members',
      { type: 'task.created' },
      DATA,
      ['/userId payload.userId is missing', '/financialPlanId payload.financialPlanId is missing'],
    ],
  ])('with %s', (_name, changes, data, errors) => {
    const result = readBinaryCloudEvent({ ...attributes, ...changes }, Buffer.from(data), []);
    expect(errorsOf(result)).toEqual(errors.map((error) => expect.stringContaining(error)));
  });
});

it('takes any JSON content type and keeps the audience', () => {
  const result = readCloudEvent(event(',"datacontenttype":"application/vnd.x+json; charset=utf-8"'), ['b', 'a', 'b']);
  expect(result.ok && result.envelope.audience).toEqual(['a', 'b']);
});
