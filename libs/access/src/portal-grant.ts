import { hasRole, type ClientDirectory, type OperatorRole } from '@relay/identity';
import { z } from 'zod';

/** What the holder of a portal token may do: look, or change as well. */
export const PortalAccess = z.enum(['read', 'write']);
export type PortalAccess = z.infer<typeof PortalAccess>;

export const PortalGrant = z.object({
  access: PortalAccess,
  /** The only webhooks that its holder sees; all of the partner's without it. */
  webhookIds: z.array(z.string()).optional(),
  /** The operator who made the link, and of which generation its secret was; none for a link of the partner itself. */
  operator: z.object({ clientId: z.string(), generation: z.int() }).optional(),
});
export type PortalGrant = z.infer<typeof PortalGrant>;

/** What a route demands of a portal token: `register` is `write` without a limit to some webhooks. */
export type PortalRule = PortalAccess | 'register';

/** Whether a portal token is taken by a route. A route without a rule takes none. */
export function admits(rule: PortalRule | undefined, { access, webhookIds }: PortalGrant): boolean {
  if (rule === undefined) return false;
  return rule === 'read' || (access === 'write' && (rule === 'write' || webhookIds === undefined));
}

/** The role of an operator that a link asks for: whoever changes something by it acts as the partner. */
export const roleToGrant = (access: PortalAccess): OperatorRole => (access === 'write' ? 'admin' : 'operator');

/** Whether a grant still counts: the secret by which an operator made the link, if one did, has not ended, and the operator has the role. */
export async function isStillGranted(
  { access, operator }: PortalGrant,
  directory: Pick<ClientDirectory, 'findByToken'>,
): Promise<boolean> {
  return operator === undefined || hasRole((await directory.findByToken(operator))?.scopes ?? [], roleToGrant(access));
}
