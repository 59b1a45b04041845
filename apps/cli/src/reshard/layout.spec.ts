import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kindOf } from './layout.adapter.js';

const ID = '11111111-2222-4333-8444-555555555555';

it.each([
  ['{relay:0}', 'parked', 'derived'],
  ['{relay:0}', `parked:${ID}`, 'derived'],
  ['{relay:0}', `parked:failed:${ID}/1000`, 'order'],
  ['{relay:0/3}', `parked:failed:${ID}/1000`, 'part'],
  ['{relay:0}', 'notices', 'global'],
  ['{relay:0/3}', 'notices', 'notices'],
  ['{relay:0}', 'replays', 'global'],
  ['{relay:0}', 'webhooks:partner:partner_x:task.created', 'global'],
  ['{relay:0/3}', 'replays', undefined],
  ['{relay:0}', `failed:${ID}`, 'failed'],
  ['{relay:0}', 'failures:login:10.0.0.1', 'global'],
  ['{relay:0}', 'failing:warned', 'global'],
  ['{relay:0}', 'unproven:jobs:https://silent.example:8443', 'unproven'],
  ['{relay:0}', `deliveries:${ID}_${ID}_0123456789abcdef_0_1`, 'job'],
  ['{relay:0}', `deliveries:${ID}_${ID}_0123456789abcdef_0_1:lock`, 'derived'],
  ['{relay:0}', `deliveries:${ID}_${ID}_0123456789abcdef_0_1:logs`, undefined],
  ['{relay:0}', 'dead-letters:wait', 'queue'],
  ['{relay:0}', `dead:${ID}`, 'dead'],
  ['{relay:0}', 'progress:e2e.task.created:7', 'partition'],
  ['{relay:0}', 'history:of:490000:17', 'derived'],
  ['{relay:0}', `history:${ID}`, 'history'],
  ['{relay:0}', 'seen:12:255', 'seen'],
  ['{relay:0}', 'seen:12', undefined],
])('%s:%s is of the kind %s', (tag, rest, kind) => {
  expect(kindOf(tag, `${tag}:${rest}`)?.kind).toBe(kind);
});

describe('the names of keys in the sources', () => {
  const root = join(import.meta.dirname, '..', '..', '..', '..');
  const files = globSync(['apps/*/src/**/*.ts', 'libs/**/*.ts'], { cwd: root }).filter(
    (file) => !/spec|\/testing\//.test(file),
  );
  const texts = files.map((file) => readFileSync(join(root, file), 'utf8'));
  const names = new Set(
    texts.flatMap((text) => [...text.matchAll(/(?:globalKey|shard\.key)\(\s*'([^']+)'/g)].map(([, name = '']) => name)),
  );
  const rests = ['', ':x', ':x/1', ':x:1', ':1:2', ':x:turn', ':jobs:x', ':applied'];

  it.each([...names])('%s is known', (name) => {
    expect(names.size).toBeGreaterThan(30);
    expect(rests.some((rest) => kindOf('{relay:0}', `{relay:0}:${name}${rest}`) !== undefined)).toBe(true);
  });
});
