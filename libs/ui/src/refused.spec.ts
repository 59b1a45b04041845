import { Refused, waitOf } from './refused.js';

it.each([
  ['no answer', new Refused(0, {}, undefined), 5_000],
  ['a store that is away', new Refused(503, {}, 2), 2_000],
  ['a proxy without a relay behind it', new Refused(502, {}, undefined), 5_000],
  ['too many requests', new Refused(429, {}, 30), 30_000],
  ['a wait that no timer of a browser has', new Refused(429, {}, 2_592_000), 3_600_000],
  ['a wait of no time', new Refused(503, {}, 0), 1_000],
  ['what is not there', new Refused(404, {}, undefined), undefined],
  ['a session that has ended', new Refused(401, {}, 2), undefined],
  ['a fault of the page', new TypeError('x is undefined'), undefined],
  ['no fault', undefined, undefined],
])('after %s a page asks again in this time', (_what, error, ms) => {
  expect(waitOf(error)).toBe(ms);
});
