import { z } from 'zod';
import { readQuery, validate } from './fastify-request.js';

const Body = z.strictObject({
  id: z.guid(),
  kind: z.enum(['a', 'b']),
  at: z.iso.datetime(),
  count: z.int().max(9),
  names: z.array(z.string().min(1).max(3)).max(2),
  key: z.string().regex(/^k/, 'key begins with k.'),
});
const id = '6f1e2d3c-4b5a-4968-8776-655443322110';
const valid = { id, kind: 'a', at: '2026-01-31T12:00:00Z', count: 1, names: ['a'], key: 'k' };
const refusalOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error;
  }
};

it.each<[unknown, string, string]>([
  [7, '', 'The body must be a JSON object.'],
  [{ ...valid, id: '7' }, '/id', 'id must be a UUID.'],
  [{ ...valid, id: undefined }, '/id', 'id is missing.'],
  [{ ...valid, kind: 'c' }, '/kind', 'kind must be one of "a", "b".'],
  [{ ...valid, at: 'now' }, '/at', 'at must be a time such as 2026-01-31T12:00:00Z.'],
  [{ ...valid, count: '1' }, '/count', 'count must be a number.'],
  [{ ...valid, count: 10 }, '/count', 'count must be at most 9.'],
  [{ ...valid, names: 'a' }, '/names', 'names must be a list.'],
  [{ ...valid, names: ['a', ''] }, '/names/1', 'names.1 is empty.'],
  [{ ...valid, names: ['four'] }, '/names/0', 'names.0 must have at most 3 characters.'],
  [{ ...valid, names: ['a', 'b', 'c'] }, '/names', 'names must have at most 2 entries.'],
  [{ ...valid, key: 'a' }, '/key', 'key begins with k.'],
  [{ ...valid, more: 1 }, '/more', 'more is not known here.'],
])('a fault of the body is one sentence that names the member: %j', (body, pointer, detail) => {
  expect(refusalOf(() => validate(Body, body))).toMatchObject({ extra: { errors: [{ pointer, detail }] } });
});

it('so is a fault of the query', () => {
  const Query = z.strictObject({
    kind: z.enum(['a']),
    status: z.string().regex(/^5/, 'a status such as 503 is expected'),
  });
  expect(refusalOf(() => readQuery(Query, { kind: 'c', status: '4', kid: '1' }))).toHaveProperty(
    'detail',
    'The query is not valid. kind must be "a". status: a status such as 503 is expected. kid is not known here.',
  );
});
