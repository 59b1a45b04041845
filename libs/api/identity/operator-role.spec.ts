import { hasRole, OPERATOR_ROLES, roleOf, scopesOfRole } from './client.js';

describe('the role of an operator', () => {
  it.each([
    ['viewer', ['viewer']],
    ['operator', ['viewer', 'operator']],
    ['admin', ['viewer', 'operator', 'admin']],
  ] as const)('%s includes %j', (role, included) => {
    const scopes = scopesOfRole(role);
    expect(roleOf(scopes)).toBe(role);
    expect(OPERATOR_ROLES.filter((needed) => hasRole(scopes, needed))).toEqual(included);
  });

  it('is admin for an operator from before the roles, and none for other clients', () => {
    expect(roleOf(['operations'])).toBe('admin');
    expect(roleOf(['webhooks', 'deliveries:write'])).toBeUndefined();
    expect(hasRole([], 'viewer')).toBe(false);
  });

  it('is lowered by a token of fewer scopes', () => {
    expect(roleOf(scopesOfRole('admin').filter((scope) => scope !== 'operations'))).toBe('operator');
  });
});
