import { SCOPES_OF } from './scope.js';

/** What an operator may do; each role includes those before it. */
export const OPERATOR_ROLES = ['viewer', 'operator', 'admin'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The scope that makes the role, last in the scopes of its clients. */
const SCOPES = {
  viewer: ['operations:read'],
  operator: ['operations:read', 'operations:write'],
  admin: SCOPES_OF.operator,
} as const satisfies Record<OperatorRole, readonly string[]>;

export const scopesOfRole = (role: OperatorRole): readonly string[] => SCOPES[role];

/** The scope that a client or token of this role has, and one of a lesser role has not. */
export const scopeOfRole = (role: OperatorRole): string => SCOPES[role].at(-1) ?? '';

/** The highest role that these scopes give. An operator from before the roles has `operations` alone, and keeps all rights. */
export const roleOf = (scopes: readonly string[]): OperatorRole | undefined =>
  OPERATOR_ROLES.findLast((role) => scopes.includes(scopeOfRole(role)));

/** Whether scopes give this role or a higher one. */
export function hasRole(scopes: readonly string[], needed: OperatorRole): boolean {
  const role = roleOf(scopes);
  return role !== undefined && OPERATOR_ROLES.indexOf(role) >= OPERATOR_ROLES.indexOf(needed);
}
