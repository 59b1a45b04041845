import { hasRole, type ClientDirectory, type OperatorRole } from '@relay/identity';
import { z } from 'zod';

/** Rights of the holder of a portal token: `read`, or `write`, which includes `read`. */
export const PortalAccess = z.enum(['read', 'write']);
export type PortalAccess = z.infer<typeof PortalAccess>;

export const PortalGrant = z.object({
  access: PortalAccess,
  /** The only webhooks that the holder sees; undefined means all webhooks of the partner. */
  webhookIds: z.array(z.string()).optional(),
  /** The operator who made the link, and the generation of its secret; undefined if the partner made the link. */
  operator: z.object({ clientId: z.string(), generation: z.int() }).optional(),
});
export type PortalGrant = z.infer<typeof PortalGrant>;

/** Access that a route demands of a portal token: `register` is `write` without a limit to some webhooks. */
export type PortalRule = PortalAccess | 'register';

/** Whether a route accepts a portal token. A route without a rule accepts none. */
export function admits(rule: PortalRule | undefined, { access, webhookIds }: PortalGrant): boolean {
  if (rule === undefined) return false;
  return rule === 'read' || (access === 'write' && (rule === 'write' || webhookIds === undefined));
}

/** Returns the role that an operator needs to make a link: its holder acts as the partner. */
export const roleToGrant = (access: PortalAccess): OperatorRole => (access === 'write' ? 'admin' : 'operator');

/** Whether a grant still counts. If an operator made the link, its secret must be live, and it must have the role. */
export async function isStillGranted(
  { access, operator }: PortalGrant,
  directory: Pick<ClientDirectory, 'findByToken'>,
): Promise<boolean> {
  return operator === undefined || hasRole((await directory.findByToken(operator))?.scopes ?? [], roleToGrant(access));
}
