import { admits, isStillGranted, type PortalGrant, type PortalRule } from './access-tokens.js';

const READ: PortalGrant = { access: 'read' };
const WRITE: PortalGrant = { access: 'write' };
const SOME: PortalGrant = { access: 'write', webhookIds: ['w'] };

it.each<[PortalRule | undefined, boolean, boolean, boolean]>([
  [undefined, false, false, false],
  ['read', true, true, true],
  ['write', false, true, true],
  ['register', false, true, false],
])('a route that says %s takes a token that reads: %s, writes: %s, writes some webhooks: %s', (rule, ...taken) => {
  expect([READ, WRITE, SOME].map((grant) => admits(rule, grant))).toEqual(taken);
});

it.each([
  ['person:s1', true],
  ['operator_0Zt1', false],
])('a link that %s made and no client is behind is still granted: %s', async (clientId, expected) => {
  const directory = { findByToken: async () => undefined };
  expect(await isStillGranted({ access: 'read', operator: { clientId, generation: 1 } }, directory)).toBe(expected);
});
