import { admits, type PortalGrant, type PortalRule } from './access-tokens.js';

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
